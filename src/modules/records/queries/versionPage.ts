import { setImmediate as nextTurn } from 'node:timers/promises';
import { dataAs, type RecordedEvent } from '../../../domain/events/event.ts';
import type { EventSource, Principal } from '../../../domain/events/eventMetadata.ts';
import { laterTime } from '../../../domain/events/laterTime.ts';
import { erasureStep, isRestoring, type RecordErased } from '../../../domain/events/recordErased.ts';
import { requireNext } from '../../../domain/events/requireNext.ts';
import type { EventLog } from '../../../storage/eventLog.ts';
import type { PrincipalNames } from './PrincipalNames.ts';
import { decodeToken, encodeToken, type PageRequest, type TokenScope } from './page.ts';

/** Events read at once when looking for the latest time in a stream. */
const CHUNK = 500;
/** Events after a tombstone among which the one that restores the record is looked for: it follows immediately. */
const LOOKED_AT = 10;

export interface HistoryPorts {
  eventLog: EventLog;
  names: PrincipalNames;
}

/** What every version of a stream reports: what happened, when, by whom, from where. */
export interface VersionEntry {
  version: number;
  event_id: string;
  type: string;
  /** When the log recorded it; never earlier than the version before. */
  recorded_at: string;
  principal: Principal & { name: string | null };
  client_ip: string | null;
  user_agent: string | null;
  request_id: string;
  /** Set for what an EMR's message said. */
  source?: EventSource;
  /** For the version that erased all earlier ones: the reason. */
  reason?: string;
}

/** A page of a stream's events, newest first; empty when the stream does not exist. */
export interface EventPage {
  events: RecordedEvent[];
  /** The event before the oldest of these, where it was asked for and exists. */
  before?: RecordedEvent;
  next_page_token: string | null;
}

/**
 * Reads a page backwards; the first tombstone of an erasure counts as the oldest event. The token is the version that
 * ended the previous page: versions never change, so pages neither skip nor repeat one while others are added.
 */
export async function readEventPage(
  eventLog: EventLog,
  stream: string,
  { limit, pageToken }: PageRequest,
  withBefore = false,
): Promise<EventPage> {
  // The version before the token's has a revision two below it. A made-up token reads the first version.
  const from =
    pageToken === undefined ? undefined : Math.max(decodeToken(pageToken, historyScope(stream)) - 2, 0);
  const found = await eventLog.readStream(stream, {
    direction: 'backwards',
    ...(from !== undefined && { from }),
    limit: limit + (withBefore ? 1 : 0),
  });
  const newest = found[0]?.revision ?? 0;
  const [events, [before]] = [found.slice(0, limit), found.slice(limit)];
  for (const [index, event] of events.entries()) requireNext(newest - index, event);
  for (const [index, event] of events.entries()) {
    if (await beginsAnew(eventLog, event))
      return { events: events.slice(0, index + 1), next_page_token: null };
  }
  const oldest = events.at(-1)?.revision ?? 0;
  return {
    events,
    ...(before && { before }),
    next_page_token: oldest > 0 ? beforeVersion(stream, oldest + 1) : null,
  };
}

/** Returns the token of the page that begins with the version before one. */
export function beforeVersion(stream: string, version: number): string {
  return encodeToken(version, historyScope(stream));
}

function historyScope(stream: string): TokenScope {
  return ['history', stream];
}

/**
 * Whether everything before an event in its stream is erased: true of the first tombstone of a complete erasure,
 * unless it came too late and the record was restored.
 */
async function beginsAnew(eventLog: EventLog, event: RecordedEvent): Promise<boolean> {
  if (erasureStep(event) === undefined) return false;
  const { part, parts, erasure_id } = dataAs<RecordErased>(event.data);
  if (part !== 1) return false;
  const from = event.revision + parts - 1;
  const [last, ...behind] = await eventLog.readStream(event.stream, { from, limit: 1 + LOOKED_AT });
  return last?.data.erasure_id === erasure_id && !behind.some((one) => isRestoring(one, erasure_id));
}

/**
 * Resolves with a page's events, newest first, as entries with the names of their principals and the times that
 * count.
 */
export async function toEntries(
  { eventLog, names }: HistoryPorts,
  events: RecordedEvent[],
): Promise<VersionEntry[]> {
  await names.learn(events.map(({ metadata }) => metadata.principal));
  const oldestFirst = events.toReversed();
  let latest = oldestFirst[0] && (await latestBefore(eventLog, oldestFirst[0]));
  const entries = oldestFirst.map((event) => {
    latest = laterTime(latest, event.recordedAt);
    return toEntry(names, event, latest);
  });
  return entries.reverse();
}

/** Resolves with the latest time in the stream before an event in it; undefined for the first one. */
async function latestBefore(
  eventLog: EventLog,
  { stream, revision }: RecordedEvent,
): Promise<string | undefined> {
  let latest: string | undefined;
  for (let from = 0; from < revision; from += CHUNK) {
    const limit = Math.min(CHUNK, revision - from);
    const events = await eventLog.readStream(stream, { from, limit });
    for (const { recordedAt } of events) latest = laterTime(latest, recordedAt);
    await nextTurn();
  }
  return latest;
}

function toEntry(names: PrincipalNames, event: RecordedEvent, recordedAt: string): VersionEntry {
  const { principal, clientIp, userAgent, requestId, source } = event.metadata;
  return {
    version: event.revision + 1,
    event_id: event.id,
    type: event.type,
    recorded_at: recordedAt,
    principal: { ...principal, name: names.nameOf(principal) ?? null },
    client_ip: clientIp ?? null,
    user_agent: userAgent ?? null,
    request_id: requestId,
    ...(source && { source }),
    ...(erasureStep(event) === 'done' && { reason: dataAs<RecordErased>(event.data).reason }),
  };
}
