import { setImmediate as nextTurn } from 'node:timers/promises';
import { KEPT_EVERY } from '../../../../projections/records.ts';
import {
  dataAs,
  type EventSource,
  maxTime,
  type Principal,
  type RecordedEvent,
} from '../../../domain/events/event.ts';
import { erasureStep, isRestoring, type RecordErased } from '../../../domain/events/payloads.ts';
import { kindOfStream, recordStream } from '../../../domain/events/streams.ts';
import { assertNextVersion, MissingVersion, upcast } from '../../../domain/events/upcasting.ts';
import {
  diffFields,
  evolveRecord,
  type FieldChange,
  mergeFields,
  type RecordState,
} from '../../../domain/records/fold.ts';
import { type CatalogEntry, fieldOrder, type RecordFields } from '../../../domain/records/schema/kind.ts';
import { asUnreadable, gone, notFound, ServiceError, UnreadableError } from '../../../platform/errors.ts';
import type { EventLog } from '../../../storage/eventLog.ts';
import { keptState, type StatePorts } from './keptStates.ts';
import { decodeToken, encodeToken, type Page, type PageRequest, type TokenScope } from './paging.ts';
import type { PrincipalNames } from './principalNames.ts';
import {
  type Evolve,
  type FoldRange,
  foldStream,
  type QueryPorts,
  type RecordView,
  toRecordView,
} from './records.ts';

const noFields = {} as RecordFields;
const FIRST_CHUNK = 8;
const LARGEST_CHUNK = 200;
/** So many events are read backwards at least before the fold begins at a kept state. */
const LOOK_BACK = 40;

/**
 * Resolves with the values of these fields, or of all, in the fold of the events before `next`; fields without a value are left
 * out. Undefined when there was no record at that point: none yet, or one that was erased.
 *
 * Folding the stream up to there would mean reading all of it. A field's value is that of the last event that sent
 * it, so the events are read backwards until every field has been found: mostly one or two events, because callers
 * tend to send whole records. For a field that was not sent for long, or never, the fold begins at a kept state. One chunk at a
 * time is held, and requests are served between chunks; `older` is the event before
 * `next`, if already read. Rejects with `unreadable` where an event is missing or cannot
 * be read.
 */
async function fieldsBefore(
  ports: StatePorts,
  stream: string,
  next: RecordedEvent,
  fields: ReadonlySet<string>,
  older?: RecordedEvent,
): Promise<RecordFields | undefined> {
  const { eventLog } = ports;
  const unmet = new Set(fields);
  let found: RecordFields | undefined;
  let isAsked = false;
  let limit = FIRST_CHUNK;
  // Everything before a tombstone is erased, and may be gone.
  if (erasureStep(next) === 'done') return undefined;
  let events = older && [older];
  let first = next;
  for (let from = next.revision - 1; from >= 0 && unmet.size > 0; events = undefined) {
    events ??= await eventLog.readStream(stream, { direction: 'backwards', from, limit });
    // Where the stream begins with a tombstone, the earlier versions are gone.
    if (events.length === 0 && erasureStep(first)) return found;
    if (events.length === 0) throw new MissingVersion(from + 1);
    for (const [index, event] of events.entries()) {
      assertNextVersion(from - index, event);
      first = event;
      const erasure = erasureStep(event);
      if (erasure === 'done') return found;
      if (erasure === 'begun') continue;
      const sent = Object.entries(upcast(event).data).filter(([field]) => unmet.delete(field));
      found = mergeFields(found ?? noFields, Object.fromEntries(sent) as RecordFields);
    }
    from -= events.length;
    limit = Math.min(limit * 4, LARGEST_CHUNK);
    if (unmet.size === 0) break;
    await nextTurn();
    if (isAsked || next.revision - from <= LOOK_BACK || from < KEPT_EVERY) continue;
    isAsked = true;
    const kept = await keptState(ports, stream, ({ version }) => version <= next.revision);
    if (kept === undefined) continue;
    const range = { state: kept, version: next.revision };
    const state = await foldStream(eventLog, stream, evolveOf(stream), range).catch(asUnreadable);
    if (!(state instanceof UnreadableError)) return state?.erased ? undefined : state?.fields;
  }
  return found;
}

/**
 * Which version is meant: the one with a number, or the last one in force at an instant (ms since 1970 UTC). The time
 * that counts for a version is the latest one up to that point in the stream: the fold ends at the first event that
 * is too late, even if a later event claims to be earlier.
 */
export type Moment = { version: number } | { asOf: number };

/**
 * Resolves with a stream's state at a moment, as `fold` folds it. Rejects with `not_found` when there was none: the
 * stream does not exist, it has no such version, or the instant lies before its first event; with `gone` when it was
 * erased then or since; with `unreadable` as `foldStream` does.
 */
export async function stateAt<State extends { version: number; updatedAt: string; erased?: true }>(
  eventLog: EventLog,
  stream: string,
  title: string,
  moment: Moment,
  fold: (range: FoldRange<State>) => Promise<State | undefined>,
): Promise<State> {
  const noun = title.toLowerCase();
  const state = await fold(rangeOf(moment));
  if (state?.erased) throw gone(title, state.updatedAt);
  const isThere = state !== undefined && !('version' in moment && state.version < moment.version);
  if (isThere) return state;
  const [first] = await eventLog.readStream(stream, { limit: 1 });
  if (first && erasureStep(first)) throw gone(title, first.recordedAt);
  if ('asOf' in moment) throw new ServiceError('not_found', `The ${noun} did not exist at that time.`);
  if (first === undefined) throw notFound(title);
  throw new ServiceError('not_found', `The ${noun} has no version ${moment.version}.`);
}

function rangeOf<State>(moment: Moment): FoldRange<State> {
  if ('version' in moment) return moment;
  return { isWanted: ({ recordedAt }) => Date.parse(recordedAt) <= moment.asOf };
}

/** Events read at once when looking for the latest time in a stream. */
const CHUNK = 200;
/** Events after a tombstone among which the one that restores the record is looked for: it follows immediately. */
const EVENTS_AFTER_TOMBSTONE = 10;

/** What versions are read from: without read models, from the events alone. */
export interface VersionPorts extends StatePorts {
  names: PrincipalNames;
}

export interface HistoryPorts extends QueryPorts {
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
  /** Set for what an undo wrote: the id of the event undone. */
  reverts?: string;
  /** Set for what an EMR's message said. */
  source?: EventSource;
  /** For the version that erased all earlier ones: the reason. */
  reason?: string;
}

/** A page of a stream's events, newest first; empty when the stream does not exist. */
interface EventPage {
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
  for (const [index, event] of events.entries()) assertNextVersion(newest - index, event);
  for (const [index, event] of events.entries()) {
    if (await startsAfterErasure(eventLog, event))
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
async function startsAfterErasure(eventLog: EventLog, event: RecordedEvent): Promise<boolean> {
  if (erasureStep(event) === undefined) return false;
  const { part, parts, erasure_id } = dataAs<RecordErased>(event.data);
  if (part !== 1) return false;
  const from = event.revision + parts - 1;
  const [last, ...behind] = await eventLog.readStream(event.stream, {
    from,
    limit: 1 + EVENTS_AFTER_TOMBSTONE,
  });
  return last?.data.erasure_id === erasure_id && !behind.some((one) => isRestoring(one, erasure_id));
}

/**
 * Resolves with a page's events, newest first, as entries with the names of their principals and the times that
 * count.
 */
export async function toEntries(ports: VersionPorts, events: RecordedEvent[]): Promise<VersionEntry[]> {
  const { names } = ports;
  await names.learn(events.map(({ metadata }) => metadata.principal));
  const oldestFirst = events.toReversed();
  let latest = oldestFirst[0] && (await latestBefore(ports, oldestFirst[0]));
  const entries = oldestFirst.map((event) => {
    latest = maxTime(latest, event.recordedAt);
    return toEntry(names, event, latest);
  });
  return entries.reverse();
}

/** Resolves with the latest time in the stream before an event in it; undefined for the first one. */
async function latestBefore(
  ports: StatePorts,
  { stream, revision }: RecordedEvent,
): Promise<string | undefined> {
  const { eventLog } = ports;
  const isLong = revision > KEPT_EVERY && kindOfStream(stream) !== 'document';
  const kept = isLong && (await keptState(ports, stream, ({ version }) => version <= revision));
  let latest = kept ? kept.updatedAt : undefined;
  for (let from = kept ? kept.version : 0; from < revision; from += CHUNK) {
    const limit = Math.min(CHUNK, revision - from);
    const events = await eventLog.readStream(stream, { from, limit });
    for (const { recordedAt } of events) latest = maxTime(latest, recordedAt);
    await nextTurn();
  }
  return latest;
}

function toEntry(names: PrincipalNames, event: RecordedEvent, recordedAt: string): VersionEntry {
  const { principal, clientIp, userAgent, requestId, reverts, source } = event.metadata;
  return {
    version: event.revision + 1,
    event_id: event.id,
    type: event.type,
    recorded_at: recordedAt,
    principal: { ...principal, name: names.nameOf(principal) ?? null },
    client_ip: clientIp ?? null,
    user_agent: userAgent ?? null,
    request_id: requestId,
    ...(reverts !== undefined && { reverts }),
    ...(source && { source }),
    ...(erasureStep(event) === 'done' && { reason: dataAs<RecordErased>(event.data).reason }),
  };
}

/** One version of a record: who sent it, and its changes to the folded fields, whatever was sent. */
export interface RecordVersion extends VersionEntry {
  outcome: 'created' | 'updated' | 'unchanged' | 'erased';
  changes: FieldChange[];
}

/**
 * Resolves with a page of a record's versions, newest first; rejects with `not_found` when the record does not exist.
 */
export async function readRecordHistory(
  ports: VersionPorts,
  workspace: string,
  entry: CatalogEntry,
  id: string,
  request: PageRequest,
): Promise<Page<RecordVersion>> {
  const { eventLog } = ports;
  const stream = recordStream(workspace, entry.kind, id);
  const page = await readEventPage(eventLog, stream, request, true);
  const { events, next_page_token } = page;
  if (events.length === 0 && request.pageToken === undefined) throw notFound(entry.title);
  const changes = await changesOf(ports, entry, stream, page);
  const entries = await toEntries(ports, events);
  return { items: entries.map((one, at) => ({ ...one, ...(changes[at] as Changes) })), next_page_token };
}

type Changes = Pick<RecordVersion, 'outcome' | 'changes'>;

/** Resolves with what each event of a page, newest first, did to the folded fields. */
async function changesOf(
  ports: StatePorts,
  entry: CatalogEntry,
  stream: string,
  { events, before: older }: EventPage,
): Promise<Changes[]> {
  const oldest = events.at(-1);
  if (oldest === undefined) return [];
  const sent = events.map((event) => ({ event, fields: upcast(event).data as RecordFields }));
  const named = new Set(sent.flatMap(({ fields }) => Object.keys(fields)));
  let before = await fieldsBefore(ports, stream, oldest, named, older);
  return sent
    .toReversed()
    .map(({ event, fields }): Changes => {
      const erasure = erasureStep(event);
      if (erasure === 'done') before = undefined;
      if (erasure) return { outcome: erasure === 'done' ? 'erased' : 'unchanged', changes: [] };
      const after = mergeFields(before ?? noFields, fields);
      const changes = inSchemaOrder(entry, diffFields(before, after));
      const outcome = before === undefined ? 'created' : changes.length > 0 ? 'updated' : 'unchanged';
      before = after;
      return { outcome, changes };
    })
    .toReversed();
}

/** Resolves with a record as it was at a moment; rejects with `not_found` when it did not exist then. */
export async function readRecordAt(
  ports: StatePorts,
  workspace: string,
  entry: CatalogEntry,
  id: string,
  moment: Moment,
): Promise<RecordView> {
  const stream = recordStream(workspace, entry.kind, id);
  const fold = () => foldRecord(ports, stream, moment);
  return toRecordView(await stateAt(ports.eventLog, stream, entry.title, moment, fold));
}

function evolveOf(stream: string): Evolve<RecordState> {
  const kind = kindOfStream(stream);
  return (state, event) => evolveRecord(kind, state, event);
}

/**
 * Resolves with the fold of a record's events up to a moment: as `foldStream`, but if they are many, from the last kept state on.
 */
export async function foldRecord(
  ports: StatePorts,
  stream: string,
  moment: Moment,
): Promise<RecordState | undefined> {
  const evolve = evolveOf(stream);
  const range = rangeOf<RecordState>(moment);
  let begin: RecordState | undefined;
  if ('asOf' in moment) {
    begin = await foldStream(ports.eventLog, stream, evolve, { ...range, version: KEPT_EVERY });
    if (begin && begin.version < KEPT_EVERY) return begin;
  }
  const isWanted = ({ version, updatedAt }: RecordState) =>
    'asOf' in moment ? Date.parse(updatedAt) <= moment.asOf : version <= moment.version;
  const mayBeKept = 'asOf' in moment || moment.version > KEPT_EVERY;
  const kept = mayBeKept ? await keptState(ports, stream, isWanted) : undefined;
  return foldStream(ports.eventLog, stream, evolve, { ...range, state: kept ?? begin });
}

/** Sorts changes into the schema's field order, wherever a page begins. */
function inSchemaOrder(entry: CatalogEntry, changes: FieldChange[]): FieldChange[] {
  const place = fieldOrder(entry);
  return changes.toSorted((a, b) => place(a.field) - place(b.field));
}
