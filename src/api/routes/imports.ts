import { z } from 'zod';
import { exactObject, validate } from '../../domain/records/schema/validation.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { type Permission, scopeKinds } from '../../modules/auth/permissions.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { doneAnswer } from '../schemas/records.ts';
import { readJson } from '../server/body.ts';
import { type IdempotencyPorts, withOptionalIdempotency } from '../server/idempotency.ts';

const count = z.int().min(0);

const importedFileSchema = exactObject({
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, { error: 'must be a SHA-256 in 64 lowercase hexadecimal digits' })
    .meta({ description: 'SHA-256 of the bytes of the file' }),
  format: z.enum(['csv', 'fhir', 'hl7v2', 'ndjson']).meta({ description: 'The format of the file' }),
  origin: z
    .enum(['bulk_export', 'search', 'folder'])
    .meta({ description: 'Where the file came from: an export or a search of an EMR, or a watched folder' }),
  accepted: count.meta({ description: 'Number of its records or messages that were accepted' }),
  rejected: count.meta({ description: 'Number of its records or messages that were rejected' }),
}).meta({
  id: 'ImportedFile',
  description:
    'A file whose records were all answered. Names of files are not sent: they can contain patient data.',
});

const recorded = doneAnswer(
  'It is durably recorded.',
  { id: 'ImportRecorded', description: 'The file is in the audit trail.' },
  'Import recorded',
);

/** `POST /integration/imports`. */
export const recordImport = endpoint({
  method: 'post',
  path: '/integration/imports',
  operationId: 'recordImport',
  summary: 'Record that a file was imported',
  description:
    'Adds one entry to the audit trail for a file whose records were sent, with the number of those that were accepted and ' +
    'rejected. `chartledger pull fhir` and `chartledger watch` send it for each file. The file itself is not sent.',
  tag: 'Batches',
  permission: ['write', ...scopeKinds.map((kind): Permission => `write:${kind}`)],
  takesIdempotencyKey: true,
  body: {
    required: true,
    content: {
      'application/json': {
        schema: importedFileSchema,
        example: {
          sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
          ...{ format: 'fhir', origin: 'bulk_export', accepted: 998, rejected: 2 },
        },
      },
    },
  },
  answers: { 200: recorded },
  errors: ['InvalidBilling', 'BodyTooLarge', 'NotJson'],
  handler:
    ({ eventLog, reservations }: { eventLog: EventLog } & IdempotencyPorts) =>
    async (context) => {
      const input = await readJson(context);
      const query = validate(importedFileSchema, input);
      const body = await withOptionalIdempotency({ reservations }, context, input, async (caller) => {
        await recordAccess(eventLog, caller, { action: 'file.imported', query });
        return recorded.example;
      });
      return { body };
    },
});
