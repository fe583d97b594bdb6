import { z } from 'zod';
import { onKind } from '../../modules/auth/permissions.ts';
import { removeDocument } from '../../modules/records/commands/removeDocument.ts';
import { type DocumentPorts, requireEncounter } from '../../modules/records/commands/uploadDocument.ts';
import { matchHeader } from '../schemas/documentedParameters.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { writeCondition } from '../schemas/parameters.ts';
import { type IdempotencyPorts, onceIfKeyed } from '../server/once.ts';
import {
  documentId,
  documentMember,
  documentParams,
  documentSubject,
  encounterId,
} from './documentAddress.ts';

const removedSchema = z
  .object({ success: z.literal(true), message: z.string() })
  .meta({ id: 'DocumentRemoved', description: 'A document was removed.' });

const removed = { success: true, message: 'Document removed' } as const;

/** `DELETE /integration/encounters/{id}/documents/{documentId}` (spec 4.7). */
export const deleteDocument = endpoint({
  method: 'delete',
  path: documentMember,
  operationId: 'deleteDocument',
  summary: 'Remove a document',
  description: 'The document can no longer be read. Its history is kept.',
  tag: 'Documents',
  permission: onKind('write', 'document'),
  params: documentParams,
  headers: matchHeader,
  takesIdempotencyKey: true,
  answers: { 200: { description: 'The document is removed.', schema: removedSchema, example: removed } },
  errors: ['DocumentNotFound', 'ErasedSince', 'VersionConflict'],
  subject: documentSubject,
  handler:
    ({ eventLog, existence, reservations }: DocumentPorts & IdempotencyPorts) =>
    async (exchange) => {
      const encounter = encounterId(exchange.req);
      const condition = writeCondition(exchange.req);
      await onceIfKeyed({ reservations }, exchange, undefined, async (caller) => {
        await requireEncounter(existence, caller.workspace, encounter);
        await removeDocument(eventLog, caller, encounter, documentId(exchange.req), condition);
      });
      return { body: removed };
    },
});
