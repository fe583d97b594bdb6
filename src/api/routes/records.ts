import { catalogEntry } from '../../domain/records/catalog.ts';
import type { CatalogEntry } from '../../domain/records/schema/kind.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { onKind } from '../../modules/auth/permissions.ts';
import { formatPosition } from '../../modules/eventStream/position.ts';
import { patchRecord as patch, upsertRecord as upsert } from '../../modules/records/commands/upsert.ts';
import { readRecordAt } from '../../modules/records/queries/history.ts';
import { listRecords as list } from '../../modules/records/queries/lists.ts';
import { type QueryPorts, readRecord as readLatest } from '../../modules/records/queries/records.ts';
import { ServiceError } from '../../platform/errors.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { patchRequests, upsertAnswers, upsertRequests, viewExample } from '../schemas/examples.ts';
import {
  accessSubject,
  conditionHeaders,
  matchHeader,
  momentQuerySchema,
  notModifiedMark,
  pathId,
  readConditions,
  recordPath,
  requestedMoment,
  unchangedSince,
} from '../schemas/parameters.ts';
import { recordSchemas, tagOf, withArticle } from '../schemas/records.ts';
import { PATCH_TYPES, readJson } from '../server/body.ts';
import { isNotModified, unlessKnown } from '../server/conditions.ts';
import { callerOf, type RequestContext } from '../server/requestContext.ts';
import {
  type RecordWritePorts,
  recordsQuerySchema,
  requestedRecords,
  writeOnce,
  writeOptions,
  writeQuerySchema,
  writtenAnswer,
  writtenSchema,
} from './recordSchemas.ts';

/** `GET /integration/{kinds}`. */
function listRecords(entry: CatalogEntry) {
  const { kind, plural } = entry;
  const query = recordsQuerySchema(entry);
  return endpoint({
    method: 'get',
    path: `/integration/${plural}`,
    operationId: `list${tagOf(entry)}`,
    summary: `List ${plural}`,
    description:
      `The ${plural} of the workspace, in the order of their creation or by their last change, including ` +
      'every write that was answered before the request (see `consistency`). With filters, a page may have fewer items than ' +
      '`limit`, or none: the list continues as long as there is a `next_page_token`. A record that does ' +
      'not change between two pages is neither omitted nor repeated. A record that is sent in the ' +
      'meantime keeps its place in the order of creation; sorted by last change, it moves to the front ' +
      'and may be missing from the following pages: to get it, request again with the ' +
      '`Chartledger-Position` of the first page as `updated_since`. With `as_of`, the list is as of that time, in the order of ' +
      'creation: filters apply to what the fields were then, and what has been erased since is omitted.',
    tag: tagOf(entry),
    permission: onKind('read', kind),
    query,
    answers: {
      200: {
        description: `A page of ${plural}.`,
        headers: ['Chartledger-Position'],
        schema: recordSchemas(kind).page,
        example: { items: [viewExample(entry)], next_page_token: null, unreadable: [] },
      },
    },
    errors: ['PositionGone'],
    subject: () => ({ kind }),
    handler: (ports: QueryPorts) => async (context) => {
      const { request, asked } = await requestedRecords(ports, context, entry, query);
      const caller = callerOf(context);
      const { page, position, shown } = await list(ports, caller.workspace, entry, request);
      await recordAccess(ports.eventLog, caller, {
        action: 'record.list',
        kind,
        query: asked,
        ...(shown && { shown }),
      });
      return { headers: { 'Chartledger-Position': formatPosition(position) }, body: page };
    },
  });
}

/** Returns a sentence that says what a record must refer to. */
function referencesText({ references }: CatalogEntry): string {
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
function upsertRecord(entry: CatalogEntry) {
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
    errors: ['InvalidRecord', 'NotTakenBack', 'ReturnPending', 'VersionConflict', 'BodyTooLarge', 'NotJson'],
    subject: ({ input }) => accessSubject(kind, (input as { id?: unknown } | null | undefined)?.id),
    handler: (ports: RecordWritePorts) => async (context) => {
      const options = writeOptions(context);
      const input = await readJson(context);
      context.input = input;
      const written = await writeOnce(ports, context, options, (caller) =>
        upsert(ports, caller, entry, input, options),
      );
      return writtenAnswer(entry, options, written);
    },
  });
}

/** `PATCH /integration/{kinds}/{id}` */
function patchRecord(entry: CatalogEntry) {
  const { title, plural, kind } = entry;
  const { created, ...answers } = upsertAnswers(entry);
  const patchBody = { schema: recordSchemas(kind).patch, examples: patchRequests(entry) };
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
      content: Object.fromEntries(PATCH_TYPES.map((type) => [type, patchBody])),
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
    handler: (ports: RecordWritePorts) => async (context) => {
      const options = writeOptions(context);
      const id = pathId(context.req, 'id', title);
      const input = await readPatch(context);
      context.input = input;
      const written = await writeOnce(ports, context, options, (caller) =>
        patch(ports, caller, entry, id, input, options),
      );
      return writtenAnswer(entry, options, written);
    },
  });
}

/**
 * Resolves with the body of a patch; the refusal of another media type says which ones are accepted (RFC 5789, section
 * 2.2).
 */
async function readPatch(context: RequestContext): Promise<unknown> {
  try {
    return await readJson(context, PATCH_TYPES);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'unsupported_media_type')
      context.headers.push('Accept-Patch', PATCH_TYPES.join(', '));
    throw error;
  }
}

/** `GET /integration/{kinds}/{id}`, also as of another version or moment. */
function readRecord(entry: CatalogEntry) {
  const { title, plural, kind } = entry;
  return endpoint({
    method: 'get',
    path: `/integration/${plural}/{id}`,
    operationId: `get${title}`,
    summary: `Read ${withArticle(kind)}`,
    description:
      `The latest version of the ${kind}, including every write that was answered before the request, or ` +
      'an earlier version: the one given by `version`, or the one current at the time `as_of`.',
    tag: tagOf(entry),
    permission: onKind('read', kind),
    params: recordPath(entry),
    query: momentQuerySchema,
    headers: readConditions,
    answers: {
      200: {
        description: `The ${kind}.`,
        headers: ['ETag'],
        schema: recordSchemas(kind).view,
        example: viewExample(entry),
      },
      304: unchangedSince,
    },
    errors: ['RecordNotFound', 'Erased', 'NotThatVersion'],
    subject: ({ req }) => accessSubject(kind, req.params.id),
    handler: (ports: QueryPorts) => async (context) => {
      const id = pathId(context.req, 'id', title);
      const caller = callerOf(context);
      const at = requestedMoment(context.req);
      const view = at
        ? await readRecordAt(ports, caller.workspace, entry, id, at.moment)
        : await readLatest(ports, caller.workspace, entry, id);
      const etag = `"${view.version}"`;
      const isKnown = isNotModified(context, etag);
      await recordAccess(ports.eventLog, caller, {
        action: 'record.read',
        kind,
        record_id: id,
        ...((at || isKnown) && { query: { ...at?.query, ...notModifiedMark(isKnown) } }),
      });
      return unlessKnown(isKnown, { headers: { ETag: etag }, body: view });
    },
  });
}

/** The endpoints of a kind of record. */
export const recordEndpoints = (entry: CatalogEntry) => [
  upsertRecord(entry),
  patchRecord(entry),
  listRecords(entry),
  readRecord(entry),
];
