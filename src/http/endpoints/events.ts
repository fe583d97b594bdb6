import { Readable } from 'node:stream';
import { z } from 'zod';
import { recordAccess, recordFurtherAccess } from '../../audit/recordAccess.ts';
import { SentEvents, type SentEventsLimits } from '../../audit/SentEvents.ts';
import { ServiceError } from '../../errors.ts';
import type { Shown } from '../../events/shown.ts';
import type { EventFeed } from '../../feed/EventFeed.ts';
import { feedEventTypes } from '../../feed/format/cloudEvent.ts';
import { formatPosition, parsePosition, requirePosition } from '../../feed/position.ts';
import type { Selection } from '../../feed/selection.ts';
import { startAt } from '../../feed/startAt.ts';
import type { Start } from '../../feed/thread/Subscription.ts';
import type { Chunk } from '../../feed/thread/threadMessages.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import type { ReadModels } from '../../ports/readModels.ts';
import type { FoundKey, KeyDirectory } from '../../principals/keys/KeyDirectory.ts';
import type { Permission } from '../../principals/keys/keyState.ts';
import { instantOf } from '../../records/instantOf.ts';
import { validate, validationError } from '../../records/validate.ts';
import { addressOf } from '../server/addressOf.ts';
import { requireUsable } from '../server/admit.ts';
import type { Answer } from '../server/answer.ts';
import type { Endpoint } from '../server/endpoint.ts';
import { callerOf, type Exchange } from '../server/exchange.ts';
import { type EventStreamOptions, sendEventStream } from '../server/sendEventStream.ts';
import { type EventsQuery, eventMediaTypes, eventsQuerySchema, lastEventIdSchema } from './eventsQuery.ts';

export interface EventsPorts {
  eventLog: EventLog;
  readModels: ReadModels;
  directory: KeyDirectory;
  feed: EventFeed;
  /** The service's address as clients see it, where it is set. */
  publicUrl: string | undefined;
}

const ACCESS: readonly Permission[] = ['events', 'events:deidentified'];
const LOOK_MS = 500;
const BEGINNING_OF_YEAR = /-01-01T00:00:00\.000Z$/;

/** Times of live streams, in milliseconds. */
export type StreamTimes = Pick<EventStreamOptions, 'heartbeatMs' | 'stalledMs'> & SentEventsLimits;

const streamTimes: StreamTimes = { heartbeatMs: 15_000, stalledMs: 60_000 };

/** `GET /events`: live as server-sent events, or a page of JSON lines. */
export function eventsEndpoint(ports: EventsPorts, times: StreamTimes = streamTimes): Endpoint {
  return {
    route: '/events',
    permission: ACCESS,
    query: eventsQuerySchema,
    async handle(exchange) {
      const type = exchange.req.accepts(Object.values(eventMediaTypes));
      exchange.headers.push('Vary', 'Accept');
      if (type === false) {
        throw new ServiceError('not_acceptable', `Accept ${Object.values(eventMediaTypes).join(' or ')}.`);
      }
      const query = validate(eventsQuerySchema, queryOf(exchange));
      const format = type === eventMediaTypes.sse ? 'sse' : 'ndjson';
      const selection = selectionOf(
        exchange.found as FoundKey,
        query,
        format,
        addressOf(exchange.req, ports.publicUrl),
      );
      const start = await startOf(ports, exchange, selection, query);
      if (exchange.req.method === 'HEAD') {
        return { headers: { 'Content-Type': type as string }, body: { stream: Readable.from([]) } };
      }
      return format === 'sse'
        ? stream(ports, exchange, selection, start, query, times)
        : page(ports, exchange, selection, start, query);
    },
  };
}

/** The `+` of an offset that was not percent-encoded arrives as a space, which no moment has. */
function queryOf({ req: { query } }: Exchange): Record<string, unknown> {
  return typeof query.from === 'string' ? { ...query, from: query.from.replace(' ', '+') } : query;
}

function selectionOf(
  { key, workspace }: FoundKey,
  { kinds, types, view }: EventsQuery,
  format: Selection['format'],
  address: string,
): Selection {
  const full = key.permissions.includes('events');
  if (view === 'full' && !full) {
    throw new ServiceError('permission_denied', "The API key lacks the permission 'events'.");
  }
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
    workspace: workspace.id,
    view: view ?? (full ? 'full' : 'deidentified'),
    eventTypes,
    format,
    address,
  };
}

async function startOf(
  ports: EventsPorts,
  { req }: Exchange,
  { view }: Selection,
  { after, from }: EventsQuery,
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
  if (from === undefined) return after === undefined ? { after: 0 } : startAfter(ports, after, 'after');
  const time = instantOf(from);
  // By trying, a finer moment would tell when an event was recorded; the view tells the year.
  if (view === 'deidentified' && !BEGINNING_OF_YEAR.test(new Date(time).toISOString())) {
    throw validationError([
      {
        field: 'from',
        message: 'must be the beginning of a year in the de-identified view, such as 2026-01-01',
      },
    ]);
  }
  return { after: await startAt(ports.readModels, time), from: time };
}

async function startAfter({ eventLog }: EventsPorts, text: string, field: string): Promise<Start> {
  const after = parsePosition(text) as number;
  await requirePosition(eventLog, after, field);
  return { after };
}

/** What was asked for, as the audit trail has it: as validated, without what was not sent. */
function asked({ req }: Exchange, { view }: Selection, query: EventsQuery): Record<string, unknown> {
  const lastEventId = req.headers['last-event-id'];
  const sent = Object.entries(query).filter(([name]) => name in req.query);
  return { ...Object.fromEntries(sent), view, ...(lastEventId && { last_event_id: lastEventId }) };
}

/** What of the log a selection leaves out, as the audit trail has it. */
function limitsOf({ view, eventTypes }: Selection): Pick<Shown, 'event_types' | 'view'> {
  return {
    ...(eventTypes.length < feedEventTypes.length && { event_types: eventTypes }),
    ...(view === 'deidentified' && { view }),
  };
}

async function stream(
  { eventLog, directory, feed }: EventsPorts,
  exchange: Exchange,
  selection: Selection,
  start: Start,
  query: EventsQuery,
  times: StreamTimes,
): Promise<Answer> {
  const subscription = feed.subscribe(selection, start);
  await recordAccess(eventLog, callerOf(exchange), {
    action: 'events.subscribe',
    query: asked(exchange, selection, query),
  });
  const allowed = () => isAllowed(directory, exchange);
  const sent = new SentEvents((part) => {
    const shown = { ...part, ...limitsOf(selection) };
    return recordFurtherAccess(eventLog, callerOf(exchange), { action: 'events.sent', shown });
  }, times);
  const sending = ({ first, position, count }: Chunk) => {
    sent.add({ from: first, to: position }, count);
    return sent.recordDue();
  };
  return {
    // Buffering proxies are asked to pass every event on at once.
    headers: { 'Content-Type': eventMediaTypes.sse, 'X-Accel-Buffering': 'no' },
    body: {
      send: (res) =>
        sendEventStream(res, subscription, { ...times, allowed, sending }).finally(() => sent.flush()),
    },
  };
}

async function page(
  { eventLog, directory, feed }: EventsPorts,
  exchange: Exchange,
  selection: Selection,
  start: Start,
  query: EventsQuery,
): Promise<Answer> {
  const end = new AbortController();
  exchange.res.once('close', () => end.abort());
  const looking = setInterval(() => {
    if (!isAllowed(directory, exchange)) end.abort();
  }, LOOK_MS);
  const found = await feed
    .poll(selection, start, query.limit, query.wait * 1_000, end.signal)
    .finally(() => clearInterval(looking));
  requireUsable(directory.current(exchange.found as FoundKey), ACCESS);
  const { first, position, count } = found;
  if (first !== undefined) {
    await recordAccess(eventLog, callerOf(exchange), {
      action: 'events.read',
      query: asked(exchange, selection, query),
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

/** Whether the key of a request that lasts is still good for it. */
function isAllowed(directory: KeyDirectory, exchange: Exchange): boolean {
  try {
    requireUsable(directory.current(exchange.found as FoundKey), ACCESS);
    return true;
  } catch {
    return false;
  }
}
