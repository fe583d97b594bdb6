import { z } from 'zod';
import { type UpsertPorts, upsertRecord as upsert } from '../../../commands/upsertRecord.ts';
import { type CatalogEntry, catalogEntry } from '../../../records/catalog.ts';
import { fieldMessageSchema, versionNumber } from '../../document/answerSchemas.ts';
import { upsertAnswers, upsertRequests } from '../../document/examples.ts';
import { tagOf, withArticle } from '../../document/kindNames.ts';
import { recordSchemas } from '../../document/recordSchemas.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { callerOf } from '../../server/exchange.ts';
import { readJson } from '../../server/readJson.ts';
import { conditionHeaders } from '../documentedParameters.ts';
import { accessSubject, writeCondition } from '../parameters.ts';

const upsertedSchema = z
  .object({
    success: z.literal(true),
    message: z.string(),
    version: versionNumber,
    outcome: z.enum(['created', 'updated']),
    warnings: z.array(fieldMessageSchema).meta({
      description: 'Fields that were not stored, and values that were stored but that billing may refuse',
    }),
  })
  .meta({ id: 'Upserted', description: 'A record was stored.' });

function referencesText({ references }: CatalogEntry): string {
  if (references.length === 0) return '';
  const named = references.map(({ field, kind }) => `\`${field}\` (${catalogEntry(kind).title})`);
  return ` These must refer to records already stored: ${named.join(', ')}.`;
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
      `Stores the ${kind} of this \`id\`: a new one, or a new version of the one that is there. ` +
      'A field that is sent replaces its value, a field that is left out keeps it, and `null` clears it ' +
      `(JSON Merge Patch, RFC 7396).${nestedText(entry)}${referencesText(entry)} Sending the same ${kind} again is safe. At most 1 MB.`,
    tag: tagOf(entry),
    permission: 'write',
    headers: conditionHeaders,
    body: {
      required: true,
      content: {
        'application/json': { schema: recordSchemas(kind).request, examples: upsertRequests(entry) },
      },
    },
    answers: {
      200: {
        description: `The ${kind} is stored, durably.`,
        headers: ['ETag'],
        schema: upsertedSchema,
        examples: upsertAnswers(entry),
      },
    },
    errors: ['InvalidRecord', 'VersionConflict', 'BodyTooLarge', 'NotJson'],
    subject: ({ input }) => accessSubject(kind, (input as { id?: unknown } | null | undefined)?.id),
    handler: (ports: UpsertPorts) => async (exchange) => {
      const condition = writeCondition(exchange.req);
      exchange.input = await readJson(exchange);
      const { version, outcome, warnings } = await upsert(
        ports,
        callerOf(exchange),
        entry,
        exchange.input,
        condition,
      );
      return {
        headers: { ETag: `"${version}"` },
        body: { success: true, message: `${title} ${outcome}`, version, outcome, warnings },
      };
    },
  });
}
