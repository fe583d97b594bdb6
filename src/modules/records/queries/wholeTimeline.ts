import { setImmediate as nextTurn } from 'node:timers/promises';
import { patientReferencesModel, referrersPartition } from '../../../../projections/records.ts';
import { dataAs, type Position, type RecordedEvent } from '../../../domain/events/event.ts';
import {
  type DisclosureAdded,
  type DisclosurePurposeStated,
  disclosureTypes,
  erasureStep,
  tombstoneTypes,
} from '../../../domain/events/payloads.ts';
import type {
  BillingChangeAcknowledged,
  ClaimOutcomeReported,
  EncounterBilled,
  FindingAnswered,
} from '../../../domain/events/readinessEvents.ts';
import {
  disclosuresStream,
  documentIdsOf,
  encounterReadinessStream,
  holdsStream,
  kindOfStream,
  recordIdOf,
  recordStream,
} from '../../../domain/events/streams.ts';
import { upcast } from '../../../domain/events/upcasting.ts';
import { catalogEntry } from '../../../domain/records/catalog.ts';
import { uploadedBy } from '../../../domain/records/document.ts';
import { encounter } from '../../../domain/records/kinds/encounter.ts';
import { patient } from '../../../domain/records/kinds/patient.ts';
import type { CatalogEntry } from '../../../domain/records/schema/kind.ts';
import { UnreadableError } from '../../../platform/errors.ts';
import { documentRows } from './documents.ts';
import {
  beforeVersion,
  type HistoryPorts,
  type RecordVersion,
  readRecordHistory,
  toEntries,
  type VersionEntry,
} from './history.ts';
import { encountersOf } from './lists.ts';
import { caughtUp, decodeToken, encodeToken, type Page, type PageRequest } from './paging.ts';
import type { QueryPorts } from './records.ts';

/** Encounters looked at for a patient's timeline: those that changed last. */
export const MOST_ENCOUNTERS = 200;
/** Changes looked at for one timeline: the newest of each stream. */
export const MOST_CHANGES = 5_000;

/** What the entries of a timeline are about, by which it is filtered. */
export const timelineSubjects = [
  'record',
  'encounter',
  'document',
  'billing',
  'merge',
  'hold',
  'disclosure',
  'erasure',
] as const;
export type TimelineSubject = (typeof timelineSubjects)[number];

/** Which entries of a timeline are wanted: those that match all of it. */
export interface TimelineFilter {
  /** First moment, and the moment before which an entry was recorded: milliseconds since 1970. */
  from?: number | undefined;
  to?: number | undefined;
  /** Id of the key or user, or part of its name, in any case. */
  who?: string | undefined;
  what?: TimelineSubject | undefined;
  /** Whether what people stated about disclosures is left out. */
  withoutDisclosures?: boolean | undefined;
}

/** What was recorded of the billing of an encounter. */
export type BillingRecorded =
  | { type: 'EncounterBilled'; data: EncounterBilled }
  | { type: 'BillingChangeAcknowledged'; data: BillingChangeAcknowledged }
  | { type: 'ClaimOutcomeReported'; data: ClaimOutcomeReported }
  | { type: 'FindingAnswered'; data: FindingAnswered };

const billingTypes: ReadonlySet<string> = new Set<BillingRecorded['type']>([
  'EncounterBilled',
  'BillingChangeAcknowledged',
  'ClaimOutcomeReported',
  'FindingAnswered',
]);

/** What people stated about disclosures of a patient's data. */
export type DisclosureStated =
  | { type: 'DisclosureAdded'; data: DisclosureAdded }
  | { type: 'DisclosurePurposeStated'; data: DisclosurePurposeStated };

/**
 * A change of a record, of a document of an encounter, of what was billed for an encounter, or of a legal hold, or a statement about
 * disclosures.
 */
export type TimelineItem =
  | { kind: string; id: string; version: RecordVersion }
  | { kind: 'document'; id: string; documentId: string; version: VersionEntry; filename: string | undefined }
  | { kind: 'billing'; id: string; version: VersionEntry; recorded: BillingRecorded }
  | { kind: 'disclosure'; id: string; version: VersionEntry; stated: DisclosureStated }
  | { kind: 'hold'; of: { kind: string; id: string } | undefined; version: VersionEntry; said: string };

interface WholeTimeline extends Page<TimelineItem> {
  /** How many entries match the filter. */
  total: number;
  /** Whether all encounters and changes were looked at. */
  isWhole: boolean;
  /** The caller's ids of what is left out because an event in its history cannot be read by this process. */
  unreadable: string[];
}

/** An event that belongs to a timeline. */
interface Entry extends Pick<RecordedEvent, 'stream' | 'revision' | 'position' | 'recordedAt' | 'metadata'> {
  subjects: readonly TimelineSubject[];
}

/** A stream, and which of its events belong to a timeline. */
interface Place {
  stream: string;
  subjectsOf(event: RecordedEvent): readonly TimelineSubject[];
  /** For the stream of a patient: of its merges those with this patient belong to the timeline; without an id, all. */
  merges?: { with?: string };
}

const AT_ONCE = 16;
const CHUNK = 200;

/**
 * Resolves with a page of what happened to a record and everything below it, newest first: its versions, merges, legal
 * holds and erasures; for a patient also what people stated about disclosures, and those of its encounters, their documents, and what was billed for them; for an
 * encounter its documents and billing. The token is the log position of the last entry, so pages neither skip nor
 * repeat one while others are added. Rejects with `unavailable`, and with `validation_failed` for an invalid token.
 */
export async function readWholeTimeline(
  ports: QueryPorts & HistoryPorts,
  workspace: string,
  entry: CatalogEntry,
  id: string,
  { limit, pageToken }: PageRequest,
  filter: TimelineFilter = {},
): Promise<WholeTimeline> {
  const scope = ['timeline', workspace, entry.kind, id, filter];
  const below = pageToken === undefined ? Number.POSITIVE_INFINITY : decodeToken(pageToken, scope);
  const timeline = await openTimeline(ports, workspace, entry, id, filter);
  const { entries, unreadable } = timeline;
  const remaining = entries.filter(({ position }) => position < below);
  const shown = remaining.slice(0, limit);
  const last = shown.at(-1);
  return {
    items: await toItems(ports, workspace, shown, unreadable),
    next_page_token: remaining.length > limit && last ? encodeToken(last.position, scope) : null,
    total: entries.length,
    isWhole: timeline.isWhole,
    unreadable: [...unreadable],
  };
}

/** Yields the entries of such a timeline that match a filter, newest first, in parts. Rejects as `readWholeTimeline` does. */
export async function* wholeTimeline(
  ports: QueryPorts & HistoryPorts,
  workspace: string,
  entry: CatalogEntry,
  id: string,
  filter: TimelineFilter,
): AsyncGenerator<TimelineItem[]> {
  const { entries, unreadable } = await openTimeline(ports, workspace, entry, id, filter);
  for (let at = 0; at < entries.length; at += CHUNK) {
    yield await toItems(ports, workspace, entries.slice(at, at + CHUNK), unreadable);
  }
}

interface OpenTimeline {
  /** Newest first. */
  entries: Entry[];
  isWhole: boolean;
  unreadable: Set<string>;
}

async function openTimeline(
  ports: QueryPorts & HistoryPorts,
  workspace: string,
  entry: CatalogEntry,
  id: string,
  filter: TimelineFilter,
): Promise<OpenTimeline> {
  const { places, isWhole } = await placesOf(ports, workspace, entry, id, filter);
  const unreadable = new Set<string>();
  const entries: Entry[] = [];
  let isComplete = isWhole;
  for (let at = 0; at < places.length; at += AT_ONCE) {
    const reading = places
      .slice(at, at + AT_ONCE)
      .map((place) => unlessUnreadable(unreadable, place.stream, () => entriesOf(ports, place)));
    for (const found of await Promise.all(reading)) {
      entries.push(...found);
      if (found.length >= MOST_CHANGES) isComplete = false;
    }
  }
  const newest = entries.sort((a, b) => b.position - a.position);
  const kept = newest.slice(0, MOST_CHANGES);
  await ports.names.learn(kept.map(({ metadata }) => metadata.principal));
  return {
    entries: kept.filter((one) => isWanted(ports, one, filter)),
    isWhole: isComplete && newest.length <= MOST_CHANGES,
    unreadable,
  };
}

function isWanted({ names }: HistoryPorts, entry: Entry, { from, to, who, what }: TimelineFilter): boolean {
  const { principal } = entry.metadata;
  const at = Date.parse(entry.recordedAt);
  const isBy = (text: string) =>
    principal.id === text || (names.nameOf(principal) ?? '').toLowerCase().includes(text.toLowerCase());
  return (
    (from === undefined || at >= from) &&
    (to === undefined || at < to) &&
    (who === undefined || isBy(who)) &&
    (what === undefined || entry.subjects.includes(what))
  );
}

/** Resolves with the newest events of a stream that belong to the timeline, in any order. */
async function entriesOf({ eventLog }: HistoryPorts, place: Place): Promise<Entry[]> {
  const { stream, subjectsOf } = place;
  const entries: (Entry & { into: unknown })[] = [];
  let from: number | undefined;
  let scanned = 0;
  while (scanned < MOST_CHANGES) {
    const options = { direction: 'backwards', limit: CHUNK, ...(from !== undefined && { from }) } as const;
    const events = await eventLog.readStream(stream, options);
    for (const event of events) {
      const { revision, position, recordedAt, metadata } = event;
      const [subjects, into] = [subjectsOf(event), event.data.merged_into];
      entries.push({ stream, revision, position, recordedAt, metadata, subjects, into });
    }
    scanned += events.length;
    const next = (events.at(-1)?.revision ?? 0) - 1;
    if (events.length < CHUNK || next < 0) break;
    from = next;
    await nextTurn();
  }
  return withMerges(place, entries.reverse()).filter(({ subjects }) => subjects.length > 0);
}

/** Returns the versions of a patient, oldest first, with the subject `merge` for those that merged it, or undid that. */
function withMerges({ merges }: Place, entries: readonly (Entry & { into: unknown })[]): Entry[] {
  if (merges === undefined) return [...entries];
  let before: unknown = null;
  return entries.map(({ into = before, subjects, ...entry }) => {
    const patients = [before, into];
    const isMerge = into !== before && (merges.with === undefined || patients.includes(merges.with));
    before = into;
    return { ...entry, subjects: isMerge ? [...subjects, 'merge' as const] : subjects };
  });
}

const isTombstone = ({ type }: RecordedEvent) => tombstoneTypes.includes(type);
const erasureOnly = (event: RecordedEvent): TimelineSubject[] =>
  erasureStep(event) === 'done' ? ['erasure'] : [];

/** Returns the subjects of the versions of a record, a document or a billing; `subject` for what is no erasure. */
function versionsAs(subject: TimelineSubject): Place['subjectsOf'] {
  return (event) => (isTombstone(event) ? erasureOnly(event) : [subject]);
}

async function placesOf(
  ports: QueryPorts,
  workspace: string,
  { kind }: CatalogEntry,
  id: string,
  { withoutDisclosures }: TimelineFilter,
): Promise<{ places: Place[]; isWhole: boolean }> {
  const own: Place = {
    stream: recordStream(workspace, kind, id),
    subjectsOf: versionsAs('record'),
    ...(kind === patient.kind && { merges: {} }),
  };
  const below =
    kind === patient.kind
      ? await belowPatient(ports, workspace, id)
      : { encounterIds: kind === encounter.kind ? [id] : [], others: [], isWhole: true };
  const { encounterIds, others, isWhole } = below;
  const documents = await documentRows(ports, workspace, encounterIds);
  const held = new Set([`${kind} ${id}`, ...encounterIds.map((one) => `${encounter.kind} ${one}`)]);
  const disclosures: Place = {
    stream: disclosuresStream(workspace, id),
    subjectsOf: ({ type }) => (disclosureTypes.includes(type) ? ['disclosure'] : []),
  };
  const encounters = encounterIds.filter((one) => kind !== encounter.kind || one !== id);
  return {
    places: [
      own,
      ...others,
      ...(kind === patient.kind && !withoutDisclosures ? [disclosures] : []),
      ...encounters.map((one) => ({
        stream: recordStream(workspace, encounter.kind, one),
        subjectsOf: versionsAs('encounter'),
      })),
      ...documents.map(({ id: stream }) => ({ stream, subjectsOf: versionsAs('document') })),
      ...encounterIds.map((one) => ({
        stream: encounterReadinessStream(workspace, one),
        subjectsOf: ({ type }: RecordedEvent) => (billingTypes.has(type) ? ['billing' as const] : []),
      })),
      {
        stream: holdsStream(workspace),
        subjectsOf: ({ data }) =>
          data.kind === undefined || held.has(`${data.kind} ${data.record_id}`) ? ['hold'] : [],
      },
    ],
    isWhole,
  };
}

/**
 * Resolves with the encounters of a patient, and the places that say who was merged into that patient and which of the
 * encounters were erased.
 */
async function belowPatient(
  ports: QueryPorts,
  workspace: string,
  id: string,
): Promise<{ encounterIds: string[]; others: Place[]; isWhole: boolean }> {
  const found = await encountersOf(ports, workspace, id, MOST_ENCOUNTERS);
  await caughtUp(ports, patientReferencesModel, 'list of encounters');
  const partition = referrersPartition(recordStream(workspace, patient.kind, id));
  const rows = await ports.readModels.page(patientReferencesModel, { partition, limit: MOST_ENCOUNTERS });
  const encounterIds = found.places.map((one) => one.id);
  const known = new Set(encounterIds);
  const others = rows.flatMap(({ body: { stream } }): Place[] => {
    if (kindOfStream(stream) === patient.kind) {
      return [{ stream, subjectsOf: erasureOnly, merges: { with: id } }];
    }
    // What belongs to somebody else now is on the timeline of that patient.
    const isErasedOne = kindOfStream(stream) === encounter.kind && !known.has(recordIdOf(stream));
    return isErasedOne ? [{ stream, subjectsOf: erasureOnly }] : [];
  });
  return { encounterIds, others, isWhole: found.isWhole && rows.length < MOST_ENCOUNTERS };
}

async function toItems(
  ports: HistoryPorts,
  workspace: string,
  entries: readonly Entry[],
  unreadable: Set<string>,
): Promise<TimelineItem[]> {
  const items = new Map<Position, TimelineItem>();
  for (const [stream, some] of Map.groupBy(entries, (entry) => entry.stream)) {
    for (const run of runsOf(some)) {
      const found = await unlessUnreadable(unreadable, stream, () => itemsOf(ports, workspace, stream, run));
      found.forEach((item, at) => {
        items.set((run[at] as Entry).position, item);
      });
    }
  }
  return entries.flatMap(({ position }) => items.get(position) ?? []);
}

/** Returns entries of one stream, newest first, divided where versions between them are left out. */
function runsOf(entries: readonly Entry[]): Entry[][] {
  const runs: Entry[][] = [];
  for (const entry of entries) {
    const last = runs.at(-1)?.at(-1);
    if (last && last.revision - 1 === entry.revision) runs.at(-1)?.push(entry);
    else runs.push([entry]);
  }
  return runs;
}

/** Resolves with what consecutive events of one stream report, newest first. */
async function itemsOf(
  ports: HistoryPorts,
  workspace: string,
  stream: string,
  run: readonly Entry[],
): Promise<TimelineItem[]> {
  const [{ revision }] = run as [Entry];
  const kind = stream === holdsStream(workspace) ? 'hold' : kindOfStream(stream);
  if (kind !== 'hold' && kind !== 'document' && kind !== 'readiness' && kind !== 'disclosures') {
    const id = recordIdOf(stream);
    const request = { limit: run.length, pageToken: beforeVersion(stream, revision + 2) };
    const { items } = await readRecordHistory(ports, workspace, catalogEntry(kind), id, request);
    return items.map((version) => ({ kind, id, version }));
  }
  const limit = run.length;
  const events = await ports.eventLog.readStream(stream, { direction: 'backwards', from: revision, limit });
  const versions = await toEntries(ports, events);
  return events.map((event, at): TimelineItem => {
    const version = versions[at] as VersionEntry;
    if (kind === 'hold') return holdItem(event, version);
    if (kind === 'readiness') return billingItem(event, version);
    if (kind === 'disclosures') return disclosureItem(event, version);
    const { encounterId: id, documentId } = documentIdsOf(stream);
    const filename = event.type === 'DocumentUploaded' ? uploadedBy(event).filename : undefined;
    return { kind, id, documentId, version, filename };
  });
}

function holdItem(event: RecordedEvent, version: VersionEntry): TimelineItem {
  const {
    kind,
    record_id: id,
    reason,
  } = dataAs<{ kind?: string; record_id?: string; reason: string }>(upcast(event).data);
  const of = kind === undefined || id === undefined ? undefined : { kind, id };
  return { kind: 'hold', of, version, said: reason };
}

function billingItem(event: RecordedEvent, version: VersionEntry): TimelineItem {
  const recorded = { type: event.type, data: dataAs(upcast(event).data) } as BillingRecorded;
  return { kind: 'billing', id: recorded.data.encounter_id, version, recorded };
}

function disclosureItem(event: RecordedEvent, version: VersionEntry): TimelineItem {
  const stated = { type: event.type, data: dataAs(upcast(event).data) } as DisclosureStated;
  return { kind: 'disclosure', id: stated.data.patient_id, version, stated };
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
