import { z } from 'zod';
import { idempotencyKeyForm } from '../idempotency/idempotencyKey.ts';

/** The header of requests that write, as the document has it. */
export const idempotencyKeyHeader = z.object({
  'Idempotency-Key': z
    .string()
    .regex(idempotencyKeyForm)
    .optional()
    .meta({
      description:
        'Any text of 1 to 255 printable ASCII characters, such as a UUID, that names this request. Sent again with the same ' +
        'key within 24 hours, the request writes nothing and is answered as the first time. Keys of other API keys are others',
      examples: ['8e03978e-40d5-43dd-bc93-6894a57f9324'],
    }),
});
