import type { IncomingMessage } from 'node:http';
import { validationError } from '../../records/validate.ts';

/** What an `Idempotency-Key` may be. */
export const idempotencyKeyForm = /^[\x20-\x7e]{1,255}$/;

/** The `Idempotency-Key` of a request, as it was sent; undefined without one. Throws `validation_failed`. */
export function idempotencyKey(req: IncomingMessage): string | undefined {
  if (req.headers['idempotency-key'] === undefined) return undefined;
  const [key = '', ...more] = req.headersDistinct['idempotency-key'] ?? [];
  if (more.length === 0 && idempotencyKeyForm.test(key)) return key;
  throw validationError([
    { field: 'Idempotency-Key', message: 'must be sent once, as 1 to 255 printable ASCII characters' },
  ]);
}
