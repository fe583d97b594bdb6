import type { TakenMessage } from '../../modules/integrations/hl7/takeMessage.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { BatchTally } from './BatchTally.ts';

const nothing = { kind: null, id: null };

/**
 * Counts those results of a message that leave no event: that it was refused, or records in which nothing changed.
 */
export function tallyMessage(tally: BatchTally, { code, results }: TakenMessage): void {
  if (code !== 'AA') {
    const failed = results.find((result) => 'error' in result);
    const error = failed?.error ?? new ServiceError('validation_failed', 'The message was refused.');
    tally.count({ ...nothing, error });
    return;
  }
  for (const result of results) {
    if (!('version' in result) || result.outcome !== 'unchanged') continue;
    tally.count({ ...nothing, written: { ...result, isSkipped: true } });
  }
}
