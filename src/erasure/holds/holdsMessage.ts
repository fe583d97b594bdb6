import type { Message } from '../../messages/message.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import { currentHolding } from './currentHolding.ts';

/** Whether a legal hold protects a record that a message is about. Rejects with `unreadable` and `unavailable`. */
export async function holdsMessage(eventLog: EventLog, { workspace, about }: Message): Promise<boolean> {
  for (const { kind, id } of about) {
    if (await currentHolding(eventLog, workspace, { kind, id }, async () => [])) return true;
  }
  return false;
}
