import type { ModelName } from '../src/storage/readModels.ts';
import { audit } from './audit.ts';
import { documents } from './documents.ts';
import { encounters } from './encounters.ts';
import { modelName, type Projection } from './projection.ts';
import { readinessModel } from './readinessModel.ts';
import { records } from './records.ts';
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
