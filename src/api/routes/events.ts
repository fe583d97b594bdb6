import { Readable } from 'node:stream';
import { z } from 'zod';
import type { Position } from '../../domain/events/event.ts';
import type { DisclosedRange } from '../../domain/events/payloads.ts';
import { currentVersion } from '../../domain/events/upcasting.ts';
import { instantOf } from '../../domain/records/schema/isoDates.ts';
import { validate, validationError } from '../../domain/records/schema/validation.ts';
import { SentEvents, type SentEventsLimits } from '../../modules/audit/accessIndex.ts';
import { recordAccess, recordFurtherAccess } from '../../modules/audit/recordAccess.ts';
import type { FoundKey, KeyDirectory } from '../../modules/auth/keyDirectory.ts';
import type { Permission } from '../../modules/auth/permissions.ts';
import {
  type CloudEvent,
  eventViews,
  feedEventTypes,
  type Selection,
  toCloudEvent,
} from '../../modules/eventStream/cloudEvents.ts';
import type { ConnectedConsumer, Consumers } from '../../modules/eventStream/consumers.ts';
import { type EventStream, PAGE_BYTES, SUBSCRIPTION_BYTES } from '../../modules/eventStream/eventStream.ts';
import { formatPosition, parsePosition, requirePlace, startAt } from '../../modules/eventStream/position.ts';
import type { Chunk } from '../../modules/eventStream/reader.ts';
import type { Start } from '../../modules/eventStream/subscription.ts';
import { measurements } from '../../platform/metrics/metrics.ts';
import { FairBudget, WORKSPACE_AND_KEY } from '../../platform/threads/fairBudget.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { bytesSchema, endpoint } from '../schemas/endpoint.ts';
import { notAcceptable } from '../schemas/errors.ts';
import { exampleAddress, exampleRequestId } from '../schemas/examples.ts';
import {
  type EventsQuery,
  eventMediaTypes,
  eventsQuerySchema,
  lastEventIdSchema,
} from '../schemas/parameters.ts';
import { lackingPermission, requireUsable } from '../server/admission.ts';
import { addressOf, type StreamedAnswer } from '../server/answer.ts';
import { digestTag, isNotModified, unlessKnown } from '../server/conditions.ts';
import { ownersOf, reserveShare } from '../server/loadShedder.ts';
import { callerOf, type RequestContext } from '../server/requestContext.ts';
import { type EventStreamOptions, sendEventStream } from '../server/sse.ts';

/** Schemas may gain fields with a new version of the service, so they are requested again after an hour. */
const MAX_AGE_SECONDS = 3_600;

/** A rarely changing description, with its entity tag. */
export interface Tagged<Body extends object> {
  body: Body;
  etag: string;
}

/** Returns a description with its entity tag. */
export function tagged<Body extends object>(body: Body): Tagged<Body> {
  return { body, etag: digestTag(body) };
}

/**
 * Responds with a description, or with 304 to a client that has it; caches may keep it: any cache, or only the
 * client's own.
 */
export function cacheable<Body extends object>(
  context: RequestContext,
  { body, etag }: Tagged<Body>,
  scope: 'public' | 'private',
) {
  const { headers } = context;
  headers[headers.indexOf('Cache-Control') + 1] = `${scope}, max-age=${MAX_AGE_SECONDS}`;
  return unlessKnown(isNotModified(context, etag), { headers: { ETag: etag }, body });
}

/** Headers of a description. */
export const cacheHeaders = ['ETag', 'Cache-Control'] as const;

/** The response to a client that has the description. */
export const notModified = {
  description: 'The document has not changed since the `ETag` in `If-None-Match`. The response has no body.',
  headers: cacheHeaders,
  empty: true,
} as const;

const workspace = 'clinic';
const sent = { id: 'payer-aetna', name: 'Aetna', state: 'CT' };

/** An event as subscribers receive it. */
const eventExample: CloudEvent = toCloudEvent(
  {
    id: exampleRequestId,
    type: 'PayerUpserted',
    stream: `${workspace}.payer-${sent.id}`,
    revision: 1,
    position: 8_136,
    recordedAt: '2026-03-14T09:30:00.000Z',
    data: sent,
    metadata: {
      workspace,
      principal: { type: 'api_key', id: 'key_1' },
      requestId: exampleRequestId,
      $correlationId: exampleRequestId,
      schemaVersion: currentVersion('PayerUpserted'),
    },
  },
  ['state'],
  exampleAddress,
);

/** What is needed to find where to begin. */
interface StartPorts {
  eventLog: EventLog;
  readModels: ReadModels;
}

const BEGINNING_OF_YEAR = /-01-01T00:00:00\.000Z$/;

/** The `+` of an offset that was not percent-encoded arrives as a space, which no moment contains. */
function withPlus({ req: { query } }: RequestContext): Record<string, unknown> {
  return typeof query.from === 'string' ? { ...query, from: query.from.replace(' ', '+') } : query;
}

/** Returns the query of a request. Throws `validation_failed`. */
function eventsQueryOf(context: RequestContext): EventsQuery {
  return validate(eventsQuerySchema, withPlus(context));
}

/** The permissions one of which a key needs for a view. */
const viewAccess: Record<Selection['view'], readonly Permission[]> = {
  full: ['events'],
  limited: ['events', 'events:limited'],
  deidentified: ['events', 'events:limited', 'events:deidentified'],
};

/** Returns the view of events that a key gets, given the view `asked` for, if any. Throws `permission_denied`. */
export function viewOf({ key }: FoundKey, asked: EventsQuery['view']): Selection['view'] {
  const allowed = eventViews.filter((view) => viewAccess[view].some((one) => key.permissions.includes(one)));
  if (asked !== undefined && !allowed.includes(asked)) throw lackingPermission(viewAccess[asked]);
  return asked ?? allowed[0] ?? 'deidentified';
}

/** Returns which events a key and a query select. Throws `permission_denied`, `validation_failed`. */
function selectionOf(
  found: FoundKey,
  { kinds, types, view: asked, unchanged }: EventsQuery,
  format: Selection['format'],
  address: string,
): Selection {
  const view = viewOf(found, asked);
  const eventTypes = feedEventTypes
    .filter(
      ({ kind, type }) =>
        (kinds?.split(',').includes(kind) ?? true) && (types?.split(',').includes(type) ?? true),
    )
    .map(({ eventType }) => eventType);
  if (eventTypes.length === 0) {
    throw validationError([{ field: 'types', message: 'must be of the kinds in kinds' }]);
  }
  return {
    workspace: found.workspace.id,
    view,
    eventTypes,
    unchanged,
    format,
    address,
  };
}

/** Resolves with where to begin. Rejects with `validation_failed`, `position_gone`, `unavailable`. */
async function startOf(
  ports: StartPorts,
  { req }: RequestContext,
  { view }: Selection,
  { after, from }: EventsQuery,
  kept: Position | undefined,
): Promise<Start> {
  const lastEventId = req.headers['last-event-id'];
  if (lastEventId) {
    const known = validate(z.object({ 'Last-Event-ID': lastEventIdSchema }), {
      'Last-Event-ID': lastEventId,
    });
    return startAfter(ports, known['Last-Event-ID'], 'Last-Event-ID');
  }
  if (after !== undefined && from !== undefined) {
    throw validationError([{ field: 'from', message: 'must not be sent together with after' }]);
  }
  if (after !== undefined) return startAfter(ports, after, 'after');
  if (kept !== undefined) return startAfter(ports, formatPosition(kept), 'resume');
  if (from === undefined) return { after: 0 };
  const time = instantOf(from);
  requireShownMoment(view, time, 'from');
  return { after: await startAt(ports.readModels, time), from: time };
}

/**
 * Throws `validation_failed`, naming `field`, for a moment that a view does not show: trying finer ones would reveal when an event was
 * recorded, and the de-identified view reveals only the year.
 */
export function requireShownMoment(view: Selection['view'], time: number, field: string): void {
  if (view !== 'deidentified' || BEGINNING_OF_YEAR.test(new Date(time).toISOString())) return;
  const message = 'must be the beginning of a year in the de-identified view, such as 2026-01-01';
  throw validationError([{ field, message }]);
}

async function startAfter({ eventLog }: StartPorts, text: string, field: string): Promise<Start> {
  const after = parsePosition(text) as number;
  await requirePlace(eventLog, after, field);
  return { after };
}

export interface EventsPorts extends StartPorts {
  directory: KeyDirectory;
  feed: EventStream;
  /** The service's address as clients see it, where it is set. */
  publicUrl: string | undefined;
  consumers: Consumers;
}

/** Resolves with the reader as it names itself; undefined if it does not. Rejects with `validation_failed`, `conflict`, `unavailable`. */
async function connected(
  { consumers }: EventsPorts,
  context: RequestContext,
  { workspace, view, eventTypes, unchanged, format }: Selection,
  { consumer: name, resume }: EventsQuery,
): Promise<ConnectedConsumer | undefined> {
  const isKept = resume === 'true';
  if (isKept && (name === undefined || format === 'sse')) {
    const message =
      format === 'sse' ? 'is for pages: a stream goes on from Last-Event-ID' : 'requires consumer';
    throw validationError([{ field: 'resume', message }]);
  }
  if (name === undefined || context.req.method === 'HEAD') return undefined;
  const key = callerOf(context).principal.id;
  return consumers.connect({ workspace, name, type: 'reader', key, view, eventTypes, unchanged }, isKept);
}

/** The permissions one of which a key needs for the stream. */
export const EVENT_ACCESS = viewAccess.deidentified;
const LOOK_MS = 500;
/** Memory for what readers have not read yet, in a request thread. One key may have 200 live streams, or 50 pages. */
const READS_BYTES = 600 * 1024 * 1024;

/** Timing of live streams, in milliseconds. */
type StreamTimes = Pick<EventStreamOptions, 'heartbeatMs' | 'stalledMs'> & SentEventsLimits;

const streamTimes: StreamTimes = { heartbeatMs: 15_000, stalledMs: 60_000 };

/** `GET /events`: live as server-sent events, or a page of JSON Lines. */
export function readEvents(times: StreamTimes = streamTimes) {
  return endpoint({
    method: 'get',
    path: '/events',
    operationId: 'readEvents',
    summary: 'Read or follow the event stream',
    description:
      "Every event of the workspace's records and documents, and of the readiness of its encounters: each " +
      'version once, in order and without gaps, from the very first one. Each is a CloudEvent 1.0 in its ' +
      'structured JSON form; `GET /asyncapi/json` is the event catalog.\n\nWith ' +
      `\`Accept: ${eventMediaTypes.ndjson}\`, or any type, the response is a page with one event per ` +
      'line. The header `Chartledger-Position` says where to continue: send it as `after`. An empty page ' +
      'means that there are no further events for now; use `wait` to wait for one.\n\nWith ' +
      `\`Accept: ${eventMediaTypes.sse}\`, the response continues for as long as the client stays ` +
      'connected: first the existing events, then new ones as they are appended. `id` is the position of ' +
      'the event. Clients of server-sent events send the last one as `Last-Event-ID` when they reconnect, ' +
      'and miss nothing. A comment is sent at least every 15 seconds. `limit` and `wait` do not apply.\n\n' +
      'Keys with the permission `events:limited` get a limited data set (45 CFR 164.514(e)), those with `events:deidentified` the ' +
      'de-identified view.',
    tag: 'Events',
    permission: EVENT_ACCESS,
    query: eventsQuerySchema,
    headers: z.object({ 'Last-Event-ID': lastEventIdSchema.optional() }),
    answers: {
      200: {
        description: 'Events, in log order.',
        headers: ['Chartledger-Position'],
        stream: {
          [eventMediaTypes.ndjson]: { schema: bytesSchema, example: `${JSON.stringify(eventExample)}\n` },
          [eventMediaTypes.sse]: {
            schema: bytesSchema,
            example: `retry: 2000\nid: ${eventExample.sequence}\ndata: ${JSON.stringify(eventExample)}\n\n`,
          },
        },
      },
    },
    errors: ['NotAcceptable', 'PositionGone'],
    handler: (ports: EventsPorts) => {
      const reads = new FairBudget(READS_BYTES, WORKSPACE_AND_KEY);
      return async (context) => {
        const type = context.req.accepts(Object.values(eventMediaTypes));
        context.headers.push('Vary', 'Accept');
        if (type === false) {
          throw notAcceptable();
        }
        const query = eventsQueryOf(context);
        const format = type === eventMediaTypes.sse ? 'sse' : 'ndjson';
        const selection = selectionOf(
          context.found as FoundKey,
          query,
          format,
          addressOf(context.req, ports.publicUrl),
        );
        const consumer = await connected(ports, context, selection, query);
        const start = await startOf(ports, context, selection, query, consumer?.kept);
        consumer?.reached(start.after, true);
        if (context.req.method === 'HEAD') {
          return { headers: { 'Content-Type': type as string }, body: { stream: Readable.from([]) } };
        }
        const read = reads.share(ownersOf(context));
        reserveShare(read, format === 'sse' ? SUBSCRIPTION_BYTES : PAGE_BYTES, 'reads of events');
        if (context.res.destroyed) read.release();
        else context.res.once('close', read.release);
        return format === 'sse'
          ? stream(ports, context, selection, start, query, consumer, times)
          : page(ports, context, selection, start, query, consumer);
      };
    },
  });
}

/** Returns what was asked for, for the audit trail: as validated, without what was not sent. */
function sentParameters(
  { req }: RequestContext,
  { view }: Selection,
  query: EventsQuery,
): Record<string, unknown> {
  const lastEventId = req.headers['last-event-id'];
  const sent = Object.entries(query).filter(([name]) => name in req.query);
  return { ...Object.fromEntries(sent), view, ...(lastEventId && { last_event_id: lastEventId }) };
}

/** Returns what a selection leaves out of the log, for the audit trail. */
function limitsOf({ view, eventTypes }: Selection): Pick<DisclosedRange, 'event_types' | 'view'> {
  return {
    ...(eventTypes.length < feedEventTypes.length && { event_types: eventTypes }),
    ...(view !== 'full' && { view }),
  };
}

async function stream(
  { eventLog, directory, feed }: EventsPorts,
  context: RequestContext,
  selection: Selection,
  start: Start,
  query: EventsQuery,
  consumer: ConnectedConsumer | undefined,
  times: StreamTimes,
): Promise<StreamedAnswer> {
  const subscription = feed.subscribe(selection, start);
  await recordAccess(eventLog, callerOf(context), {
    action: 'events.subscribe',
    query: sentParameters(context, selection, query),
  });
  const allowed = () => {
    consumer?.reached();
    return isAllowed(directory, context);
  };
  const sent = new SentEvents((part, disclosedTo) => {
    const shown = { ...part, ...limitsOf(selection) };
    // The subscription had its reason.
    const caller = { ...callerOf(context), disclosedTo, isReasonRequired: false };
    return recordFurtherAccess(eventLog, caller, { action: 'events.sent', shown });
  }, times);
  const sending = ({ first, position, count }: Chunk) => {
    const { key } = directory.current(context.found as FoundKey);
    sent.add({ from: first, to: position }, count, key.terms);
    consumer?.reached(position);
    return sent.recordDue();
  };
  return {
    // Buffering proxies are asked to pass every event on at once.
    headers: { 'Content-Type': eventMediaTypes.sse, 'X-Accel-Buffering': 'no' },
    body: {
      send: (res) =>
        whileOpen(() => sendEventStream(res, subscription, { ...times, allowed, sending })).finally(() =>
          sent.flush(),
        ),
    },
  };
}

/** Counts a stream for as long as it is open. */
async function whileOpen(send: () => Promise<void>): Promise<void> {
  const open = measurements.gauge('chartledger.stream.open', {});
  open.add(1);
  await send().finally(() => open.add(-1));
}

async function page(
  { eventLog, directory, feed }: EventsPorts,
  context: RequestContext,
  selection: Selection,
  start: Start,
  query: EventsQuery,
  consumer: ConnectedConsumer | undefined,
): Promise<StreamedAnswer> {
  const end = new AbortController();
  context.res.once('close', () => end.abort());
  const looking = setInterval(() => {
    if (!isAllowed(directory, context)) end.abort();
  }, LOOK_MS);
  const found = await feed
    .poll(selection, start, query.limit, query.wait * 1_000, end.signal)
    .finally(() => clearInterval(looking));
  // The key may have changed during the wait.
  context.found = directory.current(context.found as FoundKey);
  requireUsable(context.found, EVENT_ACCESS, context.clientIp);
  const { first, position, count } = found;
  if (count === 0) consumer?.reached(position, true);
  if (first !== undefined) {
    await recordAccess(eventLog, callerOf(context), {
      action: 'events.read',
      query: sentParameters(context, selection, query),
      shown: { ranges: [{ from: first, to: position }], count, ...limitsOf(selection) },
    });
  }
  const length = found.chunks.reduce((sum, { length }) => sum + length, 0);
  return {
    headers: {
      'Content-Type': eventMediaTypes.ndjson,
      'Content-Length': String(length),
      'Chartledger-Position': formatPosition(position),
    },
    body: { stream: Readable.from(found.chunks) },
  };
}

/** Whether the key of a long-running request is still valid for it. */
function isAllowed(directory: KeyDirectory, context: RequestContext): boolean {
  try {
    requireUsable(directory.current(context.found as FoundKey), EVENT_ACCESS, context.clientIp);
    return true;
  } catch {
    return false;
  }
}
