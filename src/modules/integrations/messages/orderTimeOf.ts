import type { MessageBody } from './message.ts';

/**
 * Returns the time that counts for the order of messages, ISO 8601, UTC: when it arrived; for a correction, that of
 * the message it corrects.
 */
export function orderTimeOf({
  ordered_at,
  received_at,
}: Pick<MessageBody, 'ordered_at' | 'received_at'>): string {
  return ordered_at ?? received_at;
}
