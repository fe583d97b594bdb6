import { MIMEType } from 'node:util';
import { splitMessages } from '../../modules/integrations/hl7/splitMessages.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { Exchange } from '../server/exchange.ts';
import { readBody } from '../server/readJson.ts';

/** Media types of messages, as interface engines name them. */
export const mediaTypes = ['application/hl7-v2', 'x-application/hl7-v2+er7'] as const;

/** For all messages of a body. */
export const MAX_MESSAGES_BYTES = 8 * 1024 * 1024;

/** Per body: they are carried out one after another while the sender waits. */
export const MAX_MESSAGES = 1_000;

/** Returns the refusal of a body with more of them. */
export function tooManyMessages(): ServiceError {
  return new ServiceError(
    'payload_too_large',
    `The body has more than ${MAX_MESSAGES} messages. Split it into several requests.`,
  );
}

/** Returns the refusal of a body of another type. */
export function notHl7(): ServiceError {
  return new ServiceError(
    'unsupported_media_type',
    `Send messages with Content-Type: ${mediaTypes.join(' or ')}.`,
  );
}

/**
 * Resolves with the messages of a request, and the type with which they were sent. Rejects as `readBody` and
 * `splitMessages` do, and with `payload_too_large` where there are too many.
 */
export async function readMessages(
  exchange: Pick<Exchange, 'req' | 'res' | 'bodies' | 'load' | 'found'>,
): Promise<{ type: string; messages: Buffer[] }> {
  const type = mediaTypes.find((one) => one === essenceOf(exchange.req.headers['content-type'] ?? ''));
  if (type === undefined) throw notHl7();
  const { bytes } = await readBody(exchange, MAX_MESSAGES_BYTES);
  const messages = splitMessages(bytes);
  if (messages.length > MAX_MESSAGES) throw tooManyMessages();
  return { type, messages };
}

function essenceOf(header: string): string | undefined {
  try {
    return new MIMEType(header).essence;
  } catch {
    return undefined;
  }
}
