import type { EventLog } from '../../storage/eventLog.ts';
import type { StateStore } from '../../storage/stateStore.ts';
import { concernsAny } from '../integrations/messages/concernsAny.ts';
import type { Message } from '../integrations/messages/message.ts';
import { currentHolding } from './currentHolding.ts';
import { readHolds } from './readHolds.ts';

/** Whether a legal hold protects a record that a message is about. Rejects with `unreadable` and `unavailable`. */
export async function holdsMessage(
  { eventLog, stateStore }: { eventLog: EventLog; stateStore: StateStore },
  message: Message,
): Promise<boolean> {
  const { workspace, about } = message;
  const { inForce } = await readHolds(eventLog, workspace);
  const held = [...inForce.values()].flatMap(([hold]) => hold?.record ?? []);
  if (await concernsAny(stateStore, message, held)) return true;
  for (const { kind, id } of about) {
    if (await currentHolding(eventLog, workspace, { kind, id }, async () => [])) return true;
  }
  return false;
}
