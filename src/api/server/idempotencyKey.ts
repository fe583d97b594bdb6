import type { IncomingMessage } from 'node:http';
import { validationError } from '../../domain/records/schema/validate.ts';

/** The permitted form of an `Idempotency-Key`. */
export const idempotencyKeyForm = /^[\x20-\x7e]{1,255}$/;

/** Returns the `Idempotency-Key` of a request, as sent; undefined without one. Throws `validation_failed`. */
export function idempotencyKey(req: IncomingMessage): string | undefined {
  if (req.headers['idempotency-key'] === undefined) return undefined;
  const [key = '', ...more] = req.headersDistinct['idempotency-key'] ?? [];
  if (more.length === 0 && idempotencyKeyForm.test(key)) return key;
  throw validationError([
    { field: 'Idempotency-Key', message: 'must be sent once, as 1 to 255 printable ASCII characters' },
  ]);
}
