import { z } from 'zod';
import { recordAccess } from '../../../audit/recordAccess.ts';
import { searchAccess } from '../../../audit/searchAccess.ts';
import type { FoundKey } from '../../../principals/keys/KeyDirectory.ts';
import { onKind, type Permission, scopeKinds } from '../../../principals/keys/permissions.ts';
import type { QueryPorts } from '../../../reads/readRecord.ts';
import { type Found, searchRecords as search } from '../../../reads/search/searchRecords.ts';
import { matches, searchTextSchema, tidied } from '../../../reads/search/searchText.ts';
import { validate } from '../../../records/validate.ts';
import { pageOf, timestamp, versionNumber } from '../../document/answerSchemas.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { requirePermission } from '../../server/admit.ts';
import { callerOf } from '../../server/exchange.ts';
import { readJson } from '../../server/readJson.ts';

const MAX_ITEMS = 100;
const DEFAULT_ITEMS = 20;

const kind = z.enum(scopeKinds);

const searchSchema = z
  .object({
    q: searchTextSchema,
    kind: kind.optional().meta({ description: 'Only among these', examples: ['patient'] }),
    limit: z
      .int({ error: 'must be a whole number' })
      .min(1)
      .max(MAX_ITEMS)
      .optional()
      .meta({
        description: `Items a page, 1 to ${MAX_ITEMS}; default ${DEFAULT_ITEMS}`,
        examples: [DEFAULT_ITEMS],
      }),
    page_token: z.string().optional().meta({ description: 'The `next_page_token` of the page before' }),
  })
  .meta({ id: 'Search', description: 'What is looked for.' });

const foundSchema = z
  .object({
    kind,
    id: z.string().meta({ description: 'The id that it was sent with', examples: ['patient-1001'] }),
    title: z.string().meta({
      description: 'Its name, or that of its file; its id where it has none',
      examples: ['Maria Lopez'],
    }),
    details: z.record(z.string(), z.string()).meta({
      description:
        'What tells it apart from others of its name: dates, numbers, and the ids that it refers to, by the names of their ' +
        'fields. Of a document, its `encounter_id` and `category`',
      examples: [{ date_of_birth: '1984-02-29', 'primary_insurance.payer_id': 'payer-aetna' }],
    }),
    matched: z.enum(matches).meta({
      description:
        '`whole`: its whole id or number is what was looked for; `words`: it has all of the words; `beginnings`: it has ' +
        'words that begin so',
    }),
    removed: z.literal(true).optional().meta({ description: 'Of a document that was removed' }),
    version: versionNumber,
    created_at: timestamp('When it was created'),
    updated_at: timestamp('When it was last sent; of a document that was removed, when it was'),
  })
  .meta({ id: 'Found', description: 'A record or document that was found.' });

const example: Found = {
  ...{ kind: 'patient', id: 'patient-1001', title: 'Maria Lopez' },
  details: { date_of_birth: '1984-02-29', 'primary_insurance.payer_id': 'payer-aetna' },
  ...{ matched: 'beginnings', version: 2 },
  ...{ created_at: '2026-03-14T09:30:00.000Z', updated_at: '2026-03-14T16:05:12.480Z' },
};

/** The kinds among which a key may look. */
function readableKinds({ key }: FoundKey): string[] {
  return scopeKinds.filter((one) => onKind('read', one).some((needed) => key.permissions.includes(needed)));
}

/** `POST /integration/search`: a POST, as names in addresses end in the logs of proxies. */
export const searchRecords = endpoint({
  method: 'post',
  path: '/integration/search',
  operationId: 'search',
  summary: 'Find records and documents',
  description:
    'Finds records of all kinds, and documents, by names, dates of birth, ids, NPIs, policy and member numbers and the names of ' +
    'files: what holds every word of `q`. Case, accents, signs, blanks and the order of words do not count; a word may be the ' +
    'beginning of one, and a day may be written as 1984-02-29, 02/29/1984 or 19840229. Of an id the parts between signs are words, ' +
    'and of those with digits also ends of at least 4 characters. First comes what has `q` as a whole id or number, then what has its words, then ' +
    'what has words that begin so; within each those first whose names or numbers changed last. Answers hold every write that was ' +
    'answered before the request. What was erased is not found; removed documents are. A page may have fewer items than `limit`, or ' +
    'none: there are more for as long as there is a `next_page_token`. With a key for some kinds alone only these are looked at.',
  tag: 'Search',
  permission: ['read', ...scopeKinds.map((one): Permission => `read:${one}`)],
  body: {
    required: true,
    content: {
      'application/json': { schema: searchSchema, example: { q: 'lopez mar 1984', kind: 'patient' } },
    },
  },
  answers: {
    200: {
      description: 'What was found, what fits best first.',
      schema: pageOf(foundSchema).meta({ id: 'FoundPage', description: 'A page of what was found.' }),
      example: { items: [example], next_page_token: null },
    },
  },
  errors: ['InvalidSearch', 'BodyTooLarge', 'NotJson'],
  handler: (ports: QueryPorts) => async (exchange) => {
    const asked = validate(searchSchema, await readJson(exchange));
    const { q, kind: among, limit = DEFAULT_ITEMS, page_token: pageToken } = asked;
    const caller = callerOf(exchange);
    const key = exchange.found as FoundKey;
    if (among !== undefined) requirePermission(key, onKind('read', among));
    const kinds = among === undefined ? readableKinds(key) : [among];
    const request = { text: tidied(q), kinds, limit, pageToken };
    const body = await search(ports, caller.workspace, request);
    await recordAccess(ports.eventLog, caller, searchAccess(request, among, body.items));
    return { body };
  },
});
