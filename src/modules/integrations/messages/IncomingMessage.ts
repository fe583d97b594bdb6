import type { MessageBody } from './message.ts';

type Parts =
  | ('source' | 'format' | 'media_type' | 'request' | 'control' | 'about')
  | ('corrects' | 'ordered_at');

/** A message as it arrives. */
export interface IncomingMessage extends Pick<MessageBody, Parts> {
  /** A UUID; also the id of its bytes in the document store. */
  id: string;
  bytes: readonly Buffer[];
  /** How long it is kept. */
  retentionDays: number;
}
