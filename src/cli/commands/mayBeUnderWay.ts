import type { Message } from '../../modules/integrations/messages/message.ts';

/** How long a message may be under way; after that it was interrupted. */
const UNDER_WAY_MS = 600_000;

/** Whether the receiver of a message may currently be carrying it out. */
export function mayBeUnderWay({ state, received_at }: Message): boolean {
  return state === 'received' && Date.now() - Date.parse(received_at) < UNDER_WAY_MS;
}
