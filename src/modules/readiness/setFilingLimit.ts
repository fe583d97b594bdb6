import type { RecordedEvent } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { recordStream } from '../../domain/events/streamNames.ts';
import { evolveRecord, type RecordState } from '../../domain/records/fold.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { foldStream } from '../records/queries/foldStream.ts';
import { changeRuleSettings } from './changeRuleSettings.ts';
import type { FilingLimitSet } from './rules/filingLimits.ts';

/**
 * Sets for how many days after the date of service a payer accepts claims, or all payers without a limit of their
 * own; `null` removes the limit. Appends nothing when it is so already. Rejects with `not_found` when there is no
 * such payer, with `unreadable` and `unavailable`.
 */
export async function setFilingLimit(
  eventLog: EventLog,
  caller: Caller,
  days: number | null,
  payerId?: string,
): Promise<void> {
  if (payerId !== undefined && days !== null) await requirePayer(eventLog, caller.workspace, payerId);
  const data: FilingLimitSet = { days, ...(payerId !== undefined && { payer_id: payerId }) };
  await changeRuleSettings(eventLog, caller, ({ filingLimits }) => {
    const set = payerId === undefined ? filingLimits.default : filingLimits.byPayer.get(payerId);
    return (set ?? null) === days ? undefined : { type: 'FilingLimitSet', data: { ...data } };
  });
}

async function requirePayer(eventLog: EventLog, workspace: string, id: string): Promise<void> {
  const evolve = (state: RecordState | undefined, event: RecordedEvent) =>
    evolveRecord('payer', state, event);
  const payer = await foldStream(eventLog, recordStream(workspace, 'payer', id), evolve);
  if (payer === undefined || payer.erased) {
    throw new ServiceError('not_found', `The workspace ${workspace} has no payer with that id.`);
  }
}
