import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../../domain/events/newEvent.ts';
import type { IngestRun } from '../carryOut.ts';
import { MessageKeeper } from '../MessageKeeper.ts';
import type { MessageStore } from '../messages/MessageStore.ts';
import type { Source } from '../source.ts';
import { acknowledge } from './acknowledge.ts';
import type { Hl7Source } from './hl7Source.ts';
import { parseMessage } from './parseMessage.ts';
import type { TakenMessage } from './takeMessage.ts';
import { type TakeOncePorts, takeOnce } from './takeOnce.ts';

export interface ReceivePorts extends TakeOncePorts {
  messages: MessageStore;
}

/** A message as it arrived. */
export interface SentMessage {
  caller: Caller;
  bytes: Buffer;
  /** The media type with which it is kept. */
  type: string;
}

/** The result of a message, and the response to its sender. */
export interface ReceivedMessage extends TakenMessage {
  acknowledgement: Buffer;
}

/**
 * Takes a source's message as `takeOnce` does, and rejects as that does: the message must then not be acknowledged.
 */
export async function receiveMessage(
  ports: ReceivePorts,
  run: Omit<IngestRun, 'caller'>,
  source: Hl7Source & Source,
  { caller, bytes, type }: SentMessage,
): Promise<ReceivedMessage> {
  const message = parseMessage(bytes);
  const raw = { format: 'hl7v2', media_type: type, bytes: [bytes] } as const;
  const keeper = new MessageKeeper(ports.messages, caller, source, raw);
  const taken = await takeOnce(ports, run, source, message, keeper);
  const stamp = { controlId: uuidv7(), at: new Date() };
  return { ...taken, acknowledgement: acknowledge(message, taken.code, taken.issues, stamp) };
}
