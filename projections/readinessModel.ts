import type { ModelName } from '../src/ports/readModels.ts';

/**
 * The read model of the worklist of readiness. No projection builds it: what stands in a row comes from several records, so
 * `keepWorklist` evaluates it. The number rises when a rule changes its meaning; the read model is then built anew.
 */
export const readinessModel: ModelName = 'readiness_v5';
