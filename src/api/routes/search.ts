import { z } from 'zod';
import { exactObject, validate } from '../../domain/records/schema/validation.ts';
import { searchAccess } from '../../modules/audit/accesses.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import type { FoundKey } from '../../modules/auth/keyDirectory.ts';
import { onKind, type Permission, scopeKinds } from '../../modules/auth/permissions.ts';
import type { QueryPorts } from '../../modules/records/queries/records.ts';
import {
  type Found,
  matches,
  searchRecords as search,
  searchTextSchema,
  tidied,
} from '../../modules/records/queries/search.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { alwaysTrue, pageOf, timestamp, versionNumber } from '../schemas/records.ts';
import { requirePermission } from '../server/admission.ts';
import { readJson } from '../server/body.ts';
import { callerOf } from '../server/requestContext.ts';

const MAX_ITEMS = 100;
const DEFAULT_ITEMS = 20;

const kind = z.enum(scopeKinds);

const searchSchema = exactObject({
  q: searchTextSchema,
  kind: kind.optional().meta({ description: 'Only this kind', examples: ['patient'] }),
  limit: z
    .int({ error: 'must be a whole number' })
    .min(1)
    .max(MAX_ITEMS)
    .optional()
    .meta({
      description: `Items per page, 1 to ${MAX_ITEMS}; default ${DEFAULT_ITEMS}`,
      examples: [DEFAULT_ITEMS],
    }),
  page_token: z.string().optional().meta({ description: 'The `next_page_token` of the previous page' }),
}).meta({ id: 'Search', description: 'What to search for.' });

const foundSchema = z
  .object({
    kind,
    id: z.string().meta({ description: 'The id that it was sent with', examples: ['patient-1001'] }),
    title: z.string().meta({
      description: 'Its name, or the name of its file; its id if it has none',
      examples: ['Maria Lopez'],
    }),
    details: z.record(z.string(), z.string()).meta({
      description:
        'What distinguishes it from others with the same name: dates, numbers, and the ids that it refers ' +
        'to, by field name. For a document, its `encounter_id` and `category`',
      examples: [{ date_of_birth: '1984-02-29', 'primary_insurance.payer_id': 'payer-aetna' }],
    }),
    matched: z.enum(matches).meta({
      description:
        '`whole`: its entire id or number matches; `words`: it contains all of the words; `beginnings`: ' +
        'it contains words that begin with them',
    }),
    removed: alwaysTrue('the document was removed').optional(),
    version: versionNumber,
    created_at: timestamp('When it was created'),
    updated_at: timestamp('When it was last sent; for a removed document, when it was removed'),
  })
  .meta({ id: 'Found', description: 'A record or document that was found.' });

const example: Omit<Found, 'foundBy'> = {
  ...{ kind: 'patient', id: 'patient-1001', title: 'Maria Lopez' },
  details: { date_of_birth: '1984-02-29', 'primary_insurance.payer_id': 'payer-aetna' },
  ...{ matched: 'beginnings', version: 2 },
  ...{ created_at: '2026-03-14T09:30:00.000Z', updated_at: '2026-03-14T16:05:12.480Z' },
};

/** Returns the kinds that a key may search. */
function readableKinds({ key }: FoundKey): string[] {
  return scopeKinds.filter((one) => onKind('read', one).some((needed) => key.permissions.includes(needed)));
}

/** `POST /integration/search`: a POST, as names in URLs end up in the logs of proxies. */
export const searchRecords = endpoint({
  method: 'post',
  path: '/integration/search',
  operationId: 'search',
  summary: 'Find records and documents',
  description:
    'Finds records of all kinds, and documents, by names, dates of birth, phone numbers, e-mail ' +
    'addresses, ids, NPIs, policy and member ' +
    'numbers, and file names. Results contain every word of `q`. Case, accents, punctuation, spaces and ' +
    'word order are ignored; a word may be the beginning of a longer one, and a day may be written as ' +
    '1984-02-29, 02/29/1984 or 19840229. The parts of an id between punctuation characters are words; ' +
    'parts with digits are also found by endings of at least 4 characters. Results that match `q` as an ' +
    'entire id or number come first, then those that contain its words, then those with words that begin ' +
    'with them; within each group, results whose names or numbers changed most recently come first. ' +
    'Responses include every write that was answered before the request. Erased records are not found; ' +
    'removed documents are. A page may have fewer items than `limit`, or none: there are more as long as ' +
    'there is a `next_page_token`. With a key for certain kinds only, only these are searched.',
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
      description: 'The results, best matches first.',
      schema: pageOf(foundSchema).meta({ id: 'FoundPage', description: 'A page of results.' }),
      example: { items: [example], next_page_token: null },
    },
  },
  errors: ['InvalidSearch', 'BodyTooLarge', 'NotJson'],
  handler: (ports: QueryPorts) => async (context) => {
    const asked = validate(searchSchema, await readJson(context));
    const { q, kind: among, limit = DEFAULT_ITEMS, page_token: pageToken } = asked;
    const caller = callerOf(context);
    const key = context.found as FoundKey;
    if (among !== undefined) requirePermission(key, onKind('read', among));
    const kinds = among === undefined ? readableKinds(key) : [among];
    const request = { text: tidied(q), kinds, limit, pageToken };
    const { items, next_page_token } = await search(ports, caller.workspace, request);
    await recordAccess(ports.eventLog, caller, searchAccess(request, among, items));
    return { body: { items: items.map(({ foundBy: _foundBy, ...item }) => item), next_page_token } };
  },
});
