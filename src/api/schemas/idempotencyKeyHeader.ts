import { z } from 'zod';
import { idempotencyKeyForm } from '../server/idempotencyKey.ts';

/** The `Idempotency-Key` header of requests that write, as described in the document. */
export const idempotencyKeyHeader = z.object({
  'Idempotency-Key': z
    .string()
    .regex(idempotencyKeyForm)
    .optional()
    .meta({
      description:
        'A unique name for this request: 1 to 255 printable ASCII characters, such as a UUID. If the ' +
        'request is sent again with the same key within 24 hours, nothing is written and the response is ' +
        'the same as the first time. Each API key has its own idempotency keys',
      examples: ['8e03978e-40d5-43dd-bc93-6894a57f9324'],
    }),
});
