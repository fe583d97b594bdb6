import type { ModelName } from '../src/storage/readModels.ts';
import { audit } from './auditTrail.ts';
import { documentSearch } from './documentSearch.ts';
import { modelName, type Projection, readinessModel } from './projection.ts';
import { documents, encounters, records } from './records.ts';
import { timeline } from './timeline.ts';
import { tree } from './tree.ts';

/** Every projection that the projector runs. */
export const projections: readonly Projection[] = [
  records,
  documents,
  encounters,
  documentSearch,
  timeline,
  tree,
  audit,
];

/** What each read model is for that is kept up to date with the log. */
export const modelPurposes: ReadonlyMap<ModelName, string> = new Map([
  ...projections.map((one) => [modelName(one), one.purpose] as const),
  [readinessModel, 'Readiness for billing'],
]);

/** Every read model that is kept up to date with the log. */
export const models: readonly ModelName[] = [...modelPurposes.keys()];
