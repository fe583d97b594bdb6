import type { EventLog } from '../../storage/eventLog.ts';
import type { ReadModels } from '../../storage/readModels.ts';

/**
 * Why a read model cannot be continued: it was built from `another_log`; or its content is `beyond_the_log`, which
 * has since been restored to an earlier state; or it is of an `unknown_log`, as an earlier version of the service
 * left it.
 */
export type LogMismatch = 'another_log' | 'beyond_the_log' | 'unknown_log';

/** The text of a log line for each, besides the model. */
export const mismatchTexts: Record<LogMismatch, string> = {
  another_log: 'a read model was built from another event log; it is built anew from this one',
  beyond_the_log:
    'a read model holds events that the event log no longer has, as after a restore; it is built anew',
  unknown_log: 'a read model does not say from which event log it was built; it is built anew',
};

/**
 * Resolves with why a read model does not belong to the log; undefined when it does, or holds nothing. Rejects with
 * `unavailable`.
 */
export async function logMismatch(
  { eventLog, readModels }: { eventLog: EventLog; readModels: ReadModels },
  model: string,
): Promise<LogMismatch | undefined> {
  const position = await readModels.checkpoint(model);
  const builtFrom = await readModels.builtFrom(model);
  if (builtFrom === undefined) return position === 0 ? undefined : 'unknown_log';
  if (builtFrom !== (await eventLog.identity())) return 'another_log';
  return (await eventLog.hasPosition(position)) ? undefined : 'beyond_the_log';
}
