import { patientReferencesModel, referrersPartition } from '../../../../projections/records.ts';
import type { RecordedEvent } from '../../../domain/events/event.ts';
import { documentIdsOf, kindOfStream, recordIdOf, recordStream } from '../../../domain/events/streams.ts';
import { catalogEntry } from '../../../domain/records/catalog.ts';
import { uploadedBy } from '../../../domain/records/document.ts';
import { encounter } from '../../../domain/records/kinds/encounter.ts';
import { patient } from '../../../domain/records/kinds/patient.ts';
import type { CatalogEntry } from '../../../domain/records/schema/kind.ts';
import { ServiceError, UnreadableError } from '../../../platform/errors.ts';
import { documentRows } from './documents.ts';
import {
  beforeVersion,
  type HistoryPorts,
  type RecordVersion,
  readRecordAt,
  readRecordHistory,
  toEntries,
  type VersionEntry,
} from './history.ts';
import { encountersOf } from './lists.ts';
import { caughtUp, decodeToken, encodeToken, type Page, type PageRequest } from './paging.ts';
import type { QueryPorts, RecordView } from './records.ts';

/** Encounters looked at for one answer. */
const MOST_ENCOUNTERS_AT = 200;
const AT_ONCE = 16;

/** The encounters of a patient at a moment. */
interface EncountersAt {
  /** As they were then, most recently changed first. */
  items: RecordView[];
  /** Whether all were looked at; if not, only the patient's first 200 were. */
  isWhole: boolean;
  /** The caller's ids of the encounters left out because an event in their history cannot be read by this process. */
  unreadable: string[];
}

/**
 * Resolves with the encounters that belonged to a patient at an instant (ms since 1970 UTC), whoever they belong to
 * now, from the log; those erased since are left out. Rejects with `unavailable`.
 */
export async function encountersAt(
  ports: QueryPorts,
  workspace: string,
  patientId: string,
  asOf: number,
): Promise<EncountersAt> {
  await caughtUp(ports, patientReferencesModel, 'list of encounters');
  const partition = referrersPartition(recordStream(workspace, patient.kind, patientId));
  const rows = await ports.readModels.page(patientReferencesModel, {
    partition,
    limit: MOST_ENCOUNTERS_AT + 1,
  });
  const ids = rows
    .slice(0, MOST_ENCOUNTERS_AT)
    .filter(({ body }) => kindOfStream(body.stream) === encounter.kind)
    .map(({ body }) => recordIdOf(body.stream));
  const items: RecordView[] = [];
  const unreadable: string[] = [];
  const look = async (id: string) => {
    try {
      const view = await readRecordAt(ports, workspace, encounter, id, { asOf });
      if (view.record.patient_id === patientId) items.push(view);
    } catch (error) {
      if (error instanceof UnreadableError) unreadable.push(id);
      else if (!isAbsent(error)) throw error;
    }
  };
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    await Promise.all(ids.slice(at, at + AT_ONCE).map(look));
  }
  return {
    items: items.toSorted((a, b) => b.updated_at.localeCompare(a.updated_at)),
    isWhole: rows.length <= MOST_ENCOUNTERS_AT,
    unreadable,
  };
}

/** Whether a record did not exist yet, or was erased since. */
function isAbsent(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'not_found' || error.code === 'gone');
}

const CHUNK = 200;
/** Versions looked at for one page: where the field changed rarely, a page ends before it is full. */
const MAX_SCANNED = 2_000;

/**
 * Resolves with a page of the versions of a record that changed one field, newest first, each with its changes to
 * that field only. `field` is dotted inside an insurance; an insurance's name stands for all of its fields. Where few
 * of many versions changed it, a page may have fewer than `limit` entries, or none, and still have a token. Rejects
 * as `readRecordHistory` does.
 */
export async function readFieldHistory(
  ports: HistoryPorts,
  workspace: string,
  entry: CatalogEntry,
  id: string,
  field: string,
  { limit, pageToken }: PageRequest,
): Promise<Page<RecordVersion>> {
  const stream = recordStream(workspace, entry.kind, id);
  const scope = ['field', stream, field];
  const items: RecordVersion[] = [];
  let before = pageToken === undefined ? undefined : decodeToken(pageToken, scope);
  for (let scanned = 0; scanned < MAX_SCANNED; scanned += CHUNK) {
    const inner = before === undefined ? undefined : beforeVersion(stream, before);
    const request = { limit: CHUNK, pageToken: inner };
    const page = await readRecordHistory(ports, workspace, entry, id, request);
    for (const version of page.items) {
      const changes = version.changes.filter((one) => isOf(field, one.field));
      if (changes.length === 0) continue;
      const last = items.at(-1);
      if (last && items.length === limit) return { items, next_page_token: encodeToken(last.version, scope) };
      items.push({ ...version, changes });
    }
    if (page.next_page_token === null) return { items, next_page_token: null };
    before = page.items.at(-1)?.version;
  }
  return { items, next_page_token: before === undefined ? null : encodeToken(before, scope) };
}

function isOf(field: string, changed: string): boolean {
  return changed === field || changed.startsWith(`${field}.`);
}

/** Encounters looked at for a patient's timeline: those that changed last. */
export const MOST_ENCOUNTERS = 200;

/** A version of a record, or of a document of an encounter. */
export type TimelineItem =
  | { kind: string; id: string; version: RecordVersion }
  | { kind: 'document'; id: string; documentId: string; version: VersionEntry; filename: string | undefined };

interface WholeTimeline extends Page<TimelineItem> {
  /** Whether all encounters were looked at. */
  isWhole: boolean;
  /** The caller's ids of what is left out because an event in its history cannot be read by this process. */
  unreadable: string[];
}

/** A stream, and the positions between which its events lie. */
interface Place {
  stream: string;
  first: number;
  last: number;
}

/**
 * Resolves with a page of what happened to a record and everything below it, newest first: for a patient its
 * encounters and their documents, for an encounter its documents, including removed ones. The token is the log
 * position of the last version, so pages neither skip nor repeat one while others are added. Rejects with
 * `unavailable`, and as `readRecordHistory` does.
 */
export async function readWholeTimeline(
  ports: QueryPorts & HistoryPorts,
  workspace: string,
  entry: CatalogEntry,
  id: string,
  { limit, pageToken }: PageRequest,
): Promise<WholeTimeline> {
  const scope = ['timeline', workspace, entry.kind, id];
  const below = pageToken === undefined ? Number.POSITIVE_INFINITY : decodeToken(pageToken, scope);
  const { places, isWhole } = await placesOf(ports, workspace, entry, id);
  const unreadable = new Set<string>();
  let found: RecordedEvent[] = [];
  for (const place of places.toSorted((a, b) => b.last - a.last)) {
    if (place.first >= below) continue;
    if (found.length > limit && place.last < (found.at(-1) as RecordedEvent).position) break;
    const events = await unlessUnreadable(unreadable, place.stream, () =>
      eventsBelow(ports, place, below, limit + 1),
    );
    found = [...found, ...events].sort((a, b) => b.position - a.position).slice(0, limit + 1);
  }
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  return {
    items: await toItems(ports, workspace, shown, unreadable),
    next_page_token: found.length > limit && last ? encodeToken(last.position, scope) : null,
    isWhole,
    unreadable: [...unreadable],
  };
}

async function placesOf(
  ports: QueryPorts,
  workspace: string,
  { kind }: CatalogEntry,
  id: string,
): Promise<{ places: Place[]; isWhole: boolean }> {
  const own = { stream: recordStream(workspace, kind, id), first: 0, last: Number.POSITIVE_INFINITY };
  if (kind !== patient.kind && kind !== encounter.kind) return { places: [own], isWhole: true };
  const encounters =
    kind === patient.kind ? await encountersOf(ports, workspace, id, MOST_ENCOUNTERS) : undefined;
  const ids = encounters ? encounters.places.map((one) => one.id) : [id];
  const documents = await documentRows(ports, workspace, ids);
  return {
    places: [
      own,
      ...(encounters?.places ?? []).map(({ id: one, first, last }) => ({
        stream: recordStream(workspace, encounter.kind, one),
        first,
        last,
      })),
      ...documents.map(({ id: stream, order, position }) => ({ stream, first: order, last: position })),
    ],
    isWhole: encounters?.isWhole ?? true,
  };
}

/** Resolves with the last events of a stream before a position, newest first. */
async function eventsBelow(
  { eventLog }: HistoryPorts,
  { stream, last }: Place,
  below: number,
  limit: number,
): Promise<RecordedEvent[]> {
  const isWhollyBelow = last < below || below === Number.POSITIVE_INFINITY;
  if (isWhollyBelow) return eventLog.readStream(stream, { direction: 'backwards', limit });
  const [newest] = await eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
  let [low, high] = [0, newest ? newest.revision + 1 : 0];
  // All events before `low` lie below the position, those from `high` onwards do not.
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [event] = await eventLog.readStream(stream, { from: middle, limit: 1 });
    if (event && event.position < below) low = event.revision + 1;
    else high = middle;
  }
  return low === 0 ? [] : eventLog.readStream(stream, { direction: 'backwards', from: low - 1, limit });
}

async function toItems(
  ports: HistoryPorts,
  workspace: string,
  events: readonly RecordedEvent[],
  unreadable: Set<string>,
): Promise<TimelineItem[]> {
  const items = new Map<string, TimelineItem>();
  for (const [stream, some] of Map.groupBy(events, (event) => event.stream)) {
    const found = await unlessUnreadable(unreadable, stream, () => itemsOf(ports, workspace, stream, some));
    for (const item of found) items.set(item.version.event_id, item);
  }
  return events.flatMap(({ id }) => items.get(id) ?? []);
}

/** Resolves with what consecutive events of one stream report, newest first. */
async function itemsOf(
  ports: HistoryPorts,
  workspace: string,
  stream: string,
  events: RecordedEvent[],
): Promise<TimelineItem[]> {
  const kind = kindOfStream(stream);
  if (kind === 'document') {
    const { encounterId: id, documentId } = documentIdsOf(stream);
    const entries = await toEntries(ports, events);
    return events.map((event, at) => ({
      kind: 'document',
      id,
      documentId,
      version: entries[at] as VersionEntry,
      filename: event.type === 'DocumentUploaded' ? uploadedBy(event).filename : undefined,
    }));
  }
  const id = recordIdOf(stream);
  const pageToken = beforeVersion(stream, (events[0] as RecordedEvent).revision + 2);
  const request = { limit: events.length, pageToken };
  const { items } = await readRecordHistory(ports, workspace, catalogEntry(kind), id, request);
  return items.map((version) => ({ kind, id, version }));
}

/** Resolves with what is read from a stream; with nothing, noting its id, where one of its events cannot be read. */
async function unlessUnreadable<Item>(
  unreadable: Set<string>,
  stream: string,
  read: () => Promise<Item[]>,
): Promise<Item[]> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    unreadable.add(
      kindOfStream(stream) === 'document' ? documentIdsOf(stream).documentId : recordIdOf(stream),
    );
    return [];
  }
}
