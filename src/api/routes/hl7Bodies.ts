import { MIMEType } from 'node:util';
import { splitMessages } from '../../modules/integrations/hl7/splitMessages.ts';
import {
  MAX_MESSAGES,
  MAX_MESSAGES_BYTES,
  mediaTypes,
  notHl7,
  tooManyMessages,
} from '../schemas/hl7Responses.ts';
import type { Exchange } from '../server/exchange.ts';
import { readBody } from '../server/readJson.ts';

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
