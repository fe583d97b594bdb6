import type { z } from 'zod';
import { type CatalogEntry, catalogEntry } from '../../records/catalog.ts';
import { momentQuerySchema, pageQuerySchema } from '../endpoints/parameters.ts';
import { upsertedSchema } from './answerSchemas.ts';
import { conditionHeaders, recordPath } from './documentedParameters.ts';
import { upsertAnswers, upsertRequests, viewExample } from './examples.ts';
import type { Operation } from './operation.ts';
import { recordSchemas } from './recordSchemas.ts';

/** `Payers`, out of `payers`: the tag of a kind, and part of its operations' ids. */
export function tagOf({ plural }: CatalogEntry): string {
  return plural[0]?.toUpperCase() + plural.slice(1);
}

function withArticle(noun: string): string {
  return `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`;
}

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

function upsertOperation(entry: CatalogEntry): Operation {
  const { title, plural, kind } = entry;
  return {
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
    request: {
      headers: conditionHeaders,
      body: {
        required: true,
        content: {
          'application/json': { schema: recordSchemas(kind).request, examples: upsertRequests(entry) },
        },
      },
    },
    ok: {
      description: `The ${kind} is stored, durably.`,
      headers: ['ETag'],
      content: { 'application/json': { schema: upsertedSchema, examples: upsertAnswers(entry) } },
    },
    errors: ['InvalidRecord', 'VersionConflict', 'BodyTooLarge', 'NotJson'],
  };
}

function listOperation(entry: CatalogEntry): Operation {
  const { kind, plural } = entry;
  const example = { items: [viewExample(entry)], next_page_token: null, unreadable: [] };
  return {
    method: 'get',
    path: `/integration/${plural}`,
    operationId: `list${tagOf(entry)}`,
    summary: `List ${plural}`,
    description:
      `The ${plural} of the workspace, in the order of their creation, with every write that was answered before ` +
      'the request.',
    tag: tagOf(entry),
    permission: 'read',
    request: { query: pageQuerySchema },
    ok: json(`A page of ${plural}.`, recordSchemas(kind).page, example),
  };
}

function getOperation(entry: CatalogEntry): Operation {
  const { title, plural, kind } = entry;
  return {
    method: 'get',
    path: `/integration/${plural}/{id}`,
    operationId: `get${title}`,
    summary: `Read ${withArticle(kind)}`,
    description:
      `The latest version of the ${kind}, with every write that was answered before the request, or an earlier one: ` +
      'that of `version`, or the one that stood at the moment `as_of`.',
    tag: tagOf(entry),
    permission: 'read',
    request: { params: recordPath(entry), query: momentQuerySchema },
    ok: { ...json(`The ${kind}.`, recordSchemas(kind).view, viewExample(entry)), headers: ['ETag'] },
    errors: ['RecordNotFound'],
  };
}

/** A JSON answer. */
export function json(description: string, schema: z.ZodType, example: unknown): Operation['ok'] {
  return { description, content: { 'application/json': { schema, example } } };
}

/** The operations on a kind of record. */
export function recordOperations(entry: CatalogEntry): Operation[] {
  return [upsertOperation(entry), listOperation(entry), getOperation(entry)];
}
