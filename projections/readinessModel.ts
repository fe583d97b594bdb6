import type { ModelName } from '../src/storage/readModels.ts';

/**
 * The read model of the readiness worklist. No projection builds it: a row is based on several records, so `keepWorklist`
 * evaluates it. The number is incremented when the meaning of a rule changes; the read model is then rebuilt.
 */
export const readinessModel: ModelName = 'readiness_v6';
