import { type Caller, newActorEvent } from '../../domain/events/newEvent.ts';
import { holdsStream } from '../../domain/events/streamNames.ts';
import { ServiceError } from '../../platform/errors.ts';
import { appendDecided } from '../../storage/appendDecided.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { Hold, HoldChange } from './holdState.ts';
import { readHolds } from './readHolds.ts';
import { requireReason } from './requireReason.ts';

/**
 * Releases a legal hold of the caller's workspace, and returns its previous state. What other holds cover stays held. Rejects
 * with `not_found` when there is none with that id, with `conflict` when it is already released, with `validation_failed` without
 * a reason, with `unreadable` and `unavailable`.
 */
export async function releaseHold(
  eventLog: EventLog,
  caller: Caller,
  id: string,
  reason: string,
): Promise<Hold> {
  const { workspace } = caller;
  const said = requireReason(reason);
  const read = () => readHolds(eventLog, workspace);
  const { holds } = await appendDecided(eventLog, holdsStream(workspace), read, ({ holds }) => {
    const { record, released } = findHold(holds, id);
    if (released) throw new ServiceError('conflict', `Hold ${id} was already released at ${released.at}.`);
    const on = record ? { kind: record.kind, record_id: record.id } : { workspace };
    const change: HoldChange = { hold_id: id, ...on, reason: said };
    return newActorEvent(caller, workspace, 'HoldReleased', { ...change });
  });
  return findHold(holds, id);
}

/** Returns the hold with an id. Throws `not_found`. */
export function findHold(holds: ReadonlyMap<string, Hold>, id: string): Hold {
  const hold = holds.get(id);
  if (hold === undefined) throw new ServiceError('not_found', `The workspace has no hold ${id}.`);
  return hold;
}
