import { audit } from './audit/audit.ts';
import { documents } from './documents.ts';
import { encounters } from './encounters.ts';
import type { Projection } from './projection.ts';
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
