import type { Message } from '../../messages/message.ts';

/** For so long a message may be under way: then it was cut off. */
const UNDER_WAY_MS = 600_000;

/** Whether a message may be carried out at this moment by whoever received it. */
export function mayBeUnderWay({ state, received_at }: Message): boolean {
  return state === 'received' && Date.now() - Date.parse(received_at) < UNDER_WAY_MS;
}
