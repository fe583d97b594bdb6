import { type CatalogEntry, catalogEntry } from '../../domain/records/catalog.ts';
import { onKind } from '../../modules/auth/permissions.ts';
import { upsertRecord as upsert } from '../../modules/records/commands/upsertRecord.ts';
import { conditionHeaders } from '../schemas/documentedParameters.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { upsertAnswers, upsertRequests } from '../schemas/examples.ts';
import { tagOf, withArticle } from '../schemas/kindNames.ts';
import { accessSubject } from '../schemas/parameters.ts';
import { recordSchemas } from '../schemas/recordSchemas.ts';
import { readJson } from '../server/readJson.ts';
import { type RecordWritePorts, writeOnce } from './writeOnce.ts';
import { writeOptions, writeQuerySchema } from './writeQuery.ts';
import { writtenAnswer, writtenSchema } from './writtenAnswer.ts';

/** Returns a sentence that says what a record must refer to. */
export function referencesText({ references }: CatalogEntry): string {
  if (references.length === 0) return '';
  const named = references.map(({ field, kind }) => `\`${field}\` (${catalogEntry(kind).title})`);
  return ` These fields must refer to records that are already stored: ${named.join(', ')}.`;
}

function nestedText({ nested }: CatalogEntry): string {
  const titles = new Map(nested.map(({ object }) => [object.title, object]));
  return [...titles.values()]
    .map(({ title, replaces }) => {
      const subject = withArticle(`${title.toLowerCase()} object`).replace(/^a/, 'A');
      return ` ${subject} replaces ${replaces} whole.`;
    })
    .join('');
}

/** `POST /integration/{kinds}` (spec 4.1 to 4.5). */
export function upsertRecord(entry: CatalogEntry) {
  const { title, plural, kind } = entry;
  return endpoint({
    method: 'post',
    path: `/integration/${plural}`,
    operationId: `upsert${title}`,
    summary: `Create or update ${withArticle(kind)}`,
    description:
      `Creates the ${kind} with this \`id\`, or a new version of it if it exists. A field that is sent ` +
      'replaces the stored value, a field that is left out keeps it, and `null` clears it (JSON Merge ' +
      `Patch, RFC 7396).${nestedText(entry)}${referencesText(entry)} Sending the same ${kind} again is ` +
      'safe. At most 1 MB.',
    tag: tagOf(entry),
    permission: onKind('write', kind),
    query: writeQuerySchema,
    headers: conditionHeaders,
    takesIdempotencyKey: true,
    body: {
      required: true,
      content: {
        'application/json': { schema: recordSchemas(kind).request, examples: upsertRequests(entry) },
      },
    },
    answers: {
      200: {
        description: `The ${kind} is durably stored.`,
        headers: ['ETag'],
        schema: writtenSchema,
        examples: upsertAnswers(entry),
      },
    },
    errors: ['InvalidRecord', 'ErasedSince', 'VersionConflict', 'BodyTooLarge', 'NotJson'],
    subject: ({ input }) => accessSubject(kind, (input as { id?: unknown } | null | undefined)?.id),
    handler: (ports: RecordWritePorts) => async (exchange) => {
      const options = writeOptions(exchange);
      const input = await readJson(exchange);
      exchange.input = input;
      const written = await writeOnce(ports, exchange, options, (caller) =>
        upsert(ports, caller, entry, input, options),
      );
      return writtenAnswer(entry, options, written);
    },
  });
}
