import type { MessageBody } from './message.ts';

/** The time that counts where messages are put in their order, ISO 8601, UTC: when it came; of a correction, that of the message which it corrects. */
export function orderTimeOf({
  ordered_at,
  received_at,
}: Pick<MessageBody, 'ordered_at' | 'received_at'>): string {
  return ordered_at ?? received_at;
}
