import { createHmac } from 'node:crypto';
import { version } from '../../platform/version.ts';
import type { WebhookMessage } from './webhookMessage.ts';

/** The prefix of every secret; its key follows in base64. */
export const SECRET_PREFIX = 'whsec_';

/** Whether a text is a secret as defined by Standard Webhooks: `whsec_`, and 24 to 64 bytes in base64. */
export function isSecret(text: string): boolean {
  const [, key] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? [];
  const { length } = Buffer.from(key ?? '', 'base64');
  return length >= 24 && length <= 64;
}

/**
 * Returns the headers of a message at a moment (milliseconds since 1970), signed with each of the secrets
 * (`whsec_…`), by the Standard Webhooks specification 1.0: HMAC-SHA256 over `{id}.{timestamp}.{body}`, scheme `v1`.
 */
export function signMessage(
  { id, body, traceparent }: WebhookMessage,
  secrets: readonly string[],
  now: number,
): Record<string, string> {
  const timestamp = Math.floor(now / 1000);
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
    'content-type': 'application/cloudevents+json',
    'user-agent': `Chartledger/${version}`,
    ...(traceparent !== undefined && { traceparent }),
  };
}
