import type { CatalogEntry } from '../../domain/records/catalog.ts';
import { onKind } from '../../modules/auth/permissions.ts';
import { patchRecord as patch } from '../../modules/records/commands/patchRecord.ts';
import { ServiceError } from '../../platform/errors.ts';
import { matchHeader, recordPath } from '../schemas/documentedParameters.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { patchRequests, upsertAnswers } from '../schemas/examples.ts';
import { tagOf, withArticle } from '../schemas/kindNames.ts';
import { accessSubject, pathId } from '../schemas/parameters.ts';
import { recordSchemas } from '../schemas/recordSchemas.ts';
import type { Exchange } from '../server/exchange.ts';
import { MERGE_PATCH, readJson } from '../server/readJson.ts';
import { referencesText } from './upsertRecord.ts';
import { type RecordWritePorts, writeOnce } from './writeOnce.ts';
import { writeOptions, writeQuerySchema } from './writeQuery.ts';
import { writtenAnswer, writtenSchema } from './writtenAnswer.ts';

/** `PATCH /integration/{kinds}/{id}` */
export function patchRecord(entry: CatalogEntry) {
  const { title, plural, kind } = entry;
  const { created, ...answers } = upsertAnswers(entry);
  return endpoint({
    method: 'patch',
    path: `/integration/${plural}/{id}`,
    operationId: `patch${title}`,
    summary: `Change fields of ${withArticle(kind)}`,
    description:
      `Stores a new version of an existing ${kind}, using a JSON Merge Patch (RFC 7396): a field that is ` +
      'sent replaces the stored value, objects are merged field by field, `null` clears a field that is ' +
      `not required, and everything else stays unchanged.${referencesText(entry)} At most 1 MB.`,
    tag: tagOf(entry),
    permission: onKind('write', kind),
    params: recordPath(entry),
    query: writeQuerySchema,
    headers: matchHeader,
    takesIdempotencyKey: true,
    body: {
      required: true,
      content: { [MERGE_PATCH]: { schema: recordSchemas(kind).patch, examples: patchRequests(entry) } },
    },
    answers: {
      200: {
        description: `The ${kind} is durably stored.`,
        headers: ['ETag'],
        schema: writtenSchema,
        examples: answers,
      },
    },
    errors: [
      'InvalidRecord',
      'RecordNotFound',
      'ErasedSince',
      'VersionConflict',
      'BodyTooLarge',
      'NotMergePatch',
    ],
    subject: ({ req }) => accessSubject(kind, req.params.id),
    handler: (ports: RecordWritePorts) => async (exchange) => {
      const options = writeOptions(exchange);
      const id = pathId(exchange.req, 'id', title);
      const input = await readPatch(exchange);
      exchange.input = input;
      const written = await writeOnce(ports, exchange, options, (caller) =>
        patch(ports, caller, entry, id, input, options),
      );
      return writtenAnswer(entry, options, written);
    },
  });
}

/**
 * Resolves with the body of a patch; the refusal of another media type says which one is accepted (RFC 5789, section
 * 2.2).
 */
async function readPatch(exchange: Exchange): Promise<unknown> {
  try {
    return await readJson(exchange, MERGE_PATCH);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'unsupported_media_type')
      exchange.headers.push('Accept-Patch', MERGE_PATCH);
    throw error;
  }
}
