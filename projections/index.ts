import type { ModelName } from '../src/storage/readModels.ts';
import { audit } from './auditTrail.ts';
import { modelName, type Projection, readinessModel } from './projection.ts';
import { documents, encounters, records } from './records.ts';
import { search } from './search.ts';
import { timeline } from './timeline.ts';
import { tree } from './tree.ts';

/** Every projection that the projector runs. */
export const projections: readonly Projection[] = [
  records,
  documents,
  encounters,
  search,
  timeline,
  tree,
  audit,
];

/** Every read model that is kept up to date with the log. */
export const models: readonly ModelName[] = [...projections.map(modelName), readinessModel];
