import { ChartledgerError } from './ChartledgerError.ts';
import type { WebhookMessage } from './types.ts';

/** A request as the webhook's endpoint received it. */
export interface ReceivedMessage {
  /** The secret of the webhook (`whsec_…`); during a rotation perhaps both. */
  secret: string | string[];
  headers: Headers | Record<string, string | string[] | undefined>;
  /** The body as it came: the signature covers its bytes. */
  body: string | Uint8Array;
  /** How far the time of sending may be from now. Default 300. */
  toleranceSeconds?: number;
}

const encoder = new TextEncoder();
const algorithm = { name: 'HMAC', hash: 'SHA-256' };

/**
 * The message of a request to a webhook's endpoint, whose signature (Standard Webhooks) is good and which is not old. Rejects with
 * the code `invalid_signature`, and with `TypeError` for a body that is parsed. A message may come more than once: `webhook-id` is the same each time.
 */
export async function verifyWebhook(received: ReceivedMessage): Promise<WebhookMessage> {
  const { secret, headers, toleranceSeconds = 300 } = received;
  if (typeof received.body !== 'string' && !(received.body instanceof Uint8Array)) {
    throw new TypeError('body is parsed, and the signature covers its bytes: pass the raw body');
  }
  const id = header(headers, 'webhook-id');
  const timestamp = header(headers, 'webhook-timestamp');
  const signatures = header(headers, 'webhook-signature').split(' ');
  if (!/^\d{1,12}$/.test(timestamp)) throw refusal('The header webhook-timestamp is no time.');
  if (Math.abs(Date.now() / 1_000 - Number(timestamp)) > toleranceSeconds) {
    throw refusal('The message was sent too long ago, or in the future.');
  }
  const body = typeof received.body === 'string' ? encoder.encode(received.body) : received.body;
  const signed = concatenate(encoder.encode(`${id}.${timestamp}.`), body);
  const keys = await Promise.all([secret].flat().map(importSecret));
  for (const signature of signatures) {
    const [version, encoded = ''] = signature.split(',');
    const bytes = version === 'v1' ? decodeBase64(encoded) : undefined;
    if (bytes === undefined) continue;
    for (const key of keys) {
      // Compares in constant time.
      if (await crypto.subtle.verify(algorithm, key, bytes, signed)) {
        return JSON.parse(new TextDecoder().decode(body));
      }
    }
  }
  throw refusal('No signature of the message is of this secret.');
}

function refusal(message: string): ChartledgerError {
  return new ChartledgerError(message, { code: 'invalid_signature' });
}

function header(headers: ReceivedMessage['headers'], name: string): string {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const [, value] = entries.find(([sent]) => sent.toLowerCase() === name) ?? [];
  if (typeof value !== 'string' || value === '') throw refusal(`The header ${name} is missing.`);
  return value;
}

/** Throws `TypeError` for what is no secret of a webhook. */
function importSecret(secret: string) {
  const bytes = decodeBase64(secret.replace(/^whsec_/, ''));
  if (bytes === undefined || bytes.length === 0) throw new TypeError('secret is not that of a webhook');
  return crypto.subtle.importKey('raw', bytes, algorithm, false, ['verify']);
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function concatenate(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}
