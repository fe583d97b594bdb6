import { type AccessRecorded, recordFurtherAccess } from '../../modules/audit/recordAccess.ts';
import { describeError } from '../../platform/errors.ts';
import { statusOf } from '../server/errorAnswer.ts';
import type { BatchTally } from './BatchTally.ts';
import type { BatchOrder, BatchPorts } from './carryOut.ts';

/** Whose batch it was, and how it arrived: `method` defaults to `POST`. */
export interface RecordedBatch extends Pick<BatchOrder, 'caller' | 'options' | 'route'> {
  method?: string;
  /** The status of its response; by default that of the most frequent code. */
  status?: number;
}

/**
 * Appends to the audit trail what left no event of its own: lines that were refused, and why, and how many were
 * skipped or dry runs. The lines' results stand, even if the log does not accept that.
 */
export async function recordBatch(
  { eventLog, batches }: Pick<BatchPorts, 'eventLog' | 'batches'>,
  { caller, options, method = 'POST', route, status }: RecordedBatch,
  tally: BatchTally,
): Promise<void> {
  const { refusal, skipped, summary } = tally;
  const entries: AccessRecorded[] = [];
  if (refusal !== undefined) {
    const answered = { method, route, status: status ?? statusOf[refusal.code] };
    entries.push({ action: 'record.batch', outcome: 'refused', ...refusal, ...answered });
  }
  if (options.dryRun) entries.push({ action: 'record.dry_run', count: summary.accepted });
  else if (skipped > 0) entries.push({ action: 'record.unchanged', count: skipped });
  try {
    await Promise.all(entries.map((entry) => recordFurtherAccess(eventLog, caller, entry)));
  } catch (error) {
    const { requestId, principal } = caller;
    const fields = { requestId, route, key: principal.id, error: describeError(error) };
    batches.logger.warn(fields, 'what a batch skipped could not be recorded in the audit trail');
  }
}
