import { Readable } from 'node:stream';
import { z } from 'zod';
import type { Shown } from '../../domain/events/shown.ts';
import { recordAccess, recordFurtherAccess } from '../../modules/audit/recordAccess.ts';
import { SentEvents, type SentEventsLimits } from '../../modules/audit/SentEvents.ts';
import type { FoundKey, KeyDirectory } from '../../modules/auth/KeyDirectory.ts';
import type { Permission } from '../../modules/auth/permissions.ts';
import { feedEventTypes } from '../../modules/eventStream/cloudEvent.ts';
import { type EventFeed, PAGE_BYTES, SUBSCRIPTION_BYTES } from '../../modules/eventStream/EventFeed.ts';
import { formatPosition } from '../../modules/eventStream/position.ts';
import type { Start } from '../../modules/eventStream/Subscription.ts';
import type { Selection } from '../../modules/eventStream/selection.ts';
import type { Chunk } from '../../modules/eventStream/threadMessages.ts';
import { measurements } from '../../platform/metrics/Measurements.ts';
import { FairBudget, WORKSPACE_AND_KEY } from '../../platform/threads/FairBudget.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { notAcceptable } from '../schemas/eventRefusals.ts';
import {
  type EventsQuery,
  eventMediaTypes,
  eventsQuerySchema,
  lastEventIdSchema,
} from '../schemas/eventsQuery.ts';
import { addressOf } from '../server/addressOf.ts';
import { requireUsable } from '../server/admit.ts';
import type { StreamedAnswer } from '../server/answer.ts';
import { ownersOf, takeFrom } from '../server/BodyBudget.ts';
import { callerOf, type Exchange } from '../server/exchange.ts';
import { type EventStreamOptions, sendEventStream } from '../server/sendEventStream.ts';
import { eventExample } from './eventExample.ts';
import { eventsQueryOf, type StartPorts, selectionOf, startOf } from './requestedEvents.ts';

export interface EventsPorts extends StartPorts {
  directory: KeyDirectory;
  feed: EventFeed;
  /** The service's address as clients see it, where it is set. */
  publicUrl: string | undefined;
}

/** The permissions one of which a key needs for the stream. */
export const EVENT_ACCESS: readonly Permission[] = ['events', 'events:deidentified'];
const LOOK_MS = 500;
/** Memory for what readers have not read yet, in a request thread. One key may have 200 live streams, or 50 pages. */
const READS_BYTES = 600 * 1024 * 1024;

/** Timing of live streams, in milliseconds. */
export type StreamTimes = Pick<EventStreamOptions, 'heartbeatMs' | 'stalledMs'> & SentEventsLimits;

const streamTimes: StreamTimes = { heartbeatMs: 15_000, stalledMs: 60_000 };

const text = { type: 'string' } as const;

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
      'The de-identified view is for keys with the permission `events:deidentified`.',
    tag: 'Events',
    permission: EVENT_ACCESS,
    query: eventsQuerySchema,
    headers: z.object({ 'Last-Event-ID': lastEventIdSchema.optional() }),
    answers: {
      200: {
        description: 'Events, in log order.',
        headers: ['Chartledger-Position'],
        stream: {
          [eventMediaTypes.ndjson]: { schema: text, example: `${JSON.stringify(eventExample)}\n` },
          [eventMediaTypes.sse]: {
            schema: text,
            example: `retry: 2000\n\nid: ${eventExample.sequence}\ndata: ${JSON.stringify(eventExample)}\n\n`,
          },
        },
      },
    },
    errors: ['NotAcceptable', 'PositionGone'],
    handler: (ports: EventsPorts) => {
      const reads = new FairBudget(READS_BYTES, WORKSPACE_AND_KEY);
      return async (exchange) => {
        const type = exchange.req.accepts(Object.values(eventMediaTypes));
        exchange.headers.push('Vary', 'Accept');
        if (type === false) {
          throw notAcceptable();
        }
        const query = eventsQueryOf(exchange);
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
        const read = reads.share(ownersOf(exchange));
        takeFrom(read, format === 'sse' ? SUBSCRIPTION_BYTES : PAGE_BYTES, 'reads of events');
        if (exchange.res.destroyed) read.giveAll();
        else exchange.res.once('close', read.giveAll);
        return format === 'sse'
          ? stream(ports, exchange, selection, start, query, times)
          : page(ports, exchange, selection, start, query);
      };
    },
  });
}

/** Returns what was asked for, for the audit trail: as validated, without what was not sent. */
function asked({ req }: Exchange, { view }: Selection, query: EventsQuery): Record<string, unknown> {
  const lastEventId = req.headers['last-event-id'];
  const sent = Object.entries(query).filter(([name]) => name in req.query);
  return { ...Object.fromEntries(sent), view, ...(lastEventId && { last_event_id: lastEventId }) };
}

/** Returns what a selection leaves out of the log, for the audit trail. */
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
): Promise<StreamedAnswer> {
  const subscription = feed.subscribe(selection, start);
  await recordAccess(eventLog, callerOf(exchange), {
    action: 'events.subscribe',
    query: asked(exchange, selection, query),
  });
  const allowed = () => isAllowed(directory, exchange);
  const sent = new SentEvents((part, disclosedTo) => {
    const shown = { ...part, ...limitsOf(selection) };
    const caller = { ...callerOf(exchange), disclosedTo };
    return recordFurtherAccess(eventLog, caller, { action: 'events.sent', shown });
  }, times);
  const sending = ({ first, position, count }: Chunk) => {
    const { key } = directory.current(exchange.found as FoundKey);
    sent.add({ from: first, to: position }, count, key.terms);
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
  exchange: Exchange,
  selection: Selection,
  start: Start,
  query: EventsQuery,
): Promise<StreamedAnswer> {
  const end = new AbortController();
  exchange.res.once('close', () => end.abort());
  const looking = setInterval(() => {
    if (!isAllowed(directory, exchange)) end.abort();
  }, LOOK_MS);
  const found = await feed
    .poll(selection, start, query.limit, query.wait * 1_000, end.signal)
    .finally(() => clearInterval(looking));
  // The key may have changed during the wait.
  exchange.found = directory.current(exchange.found as FoundKey);
  requireUsable(exchange.found, EVENT_ACCESS, exchange.clientIp);
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

/** Whether the key of a long-running request is still valid for it. */
function isAllowed(directory: KeyDirectory, exchange: Exchange): boolean {
  try {
    requireUsable(directory.current(exchange.found as FoundKey), EVENT_ACCESS, exchange.clientIp);
    return true;
  } catch {
    return false;
  }
}
