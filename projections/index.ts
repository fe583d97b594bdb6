import { documents } from './documents.ts';
import type { Projection } from './projection.ts';
import { records } from './records.ts';

/** Every projection that the projector runs. */
export const projections: readonly Projection[] = [records, documents];
