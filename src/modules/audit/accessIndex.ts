import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { v7 as uuidv7 } from 'uuid';
import {
  type AuditEntry,
  type AuditFacetValues,
  anySignatureTest,
} from '../../../projections/auditAggregation.ts';
import { bodyOf } from '../../../projections/projection.ts';
import {
  documentsModel,
  everyDocumentPartition,
  patientReferencesModel,
  recordsModel,
  referrersPartition,
} from '../../../projections/records.ts';
import { dataAs, type Position, type RecordedEvent } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import {
  type DisclosedRange,
  type DisclosureTerms,
  erasureStep,
  type PositionRange,
  RECORD_ERASED,
  type RecordErased,
  tombstoneTypes,
  withRange,
} from '../../domain/events/payloads.ts';
import {
  documentIdsOf,
  encounterReadinessStream,
  kindOfStream,
  recordIdOf,
  recordStream,
} from '../../domain/events/streams.ts';
import { eventTypesOf } from '../../domain/records/catalog.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { notFound } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { allRows, caughtUp } from '../records/queries/paging.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import { ContentReader, type ContentWords } from './contentWords.ts';
import { type AccessAction, recordFurtherAccess } from './recordAccess.ts';

interface Counted extends Pick<Caller, 'workspace' | 'principal'> {
  action: AccessAction;
  count: number;
}

/**
 * Counts events that are too frequent, and too insignificant, for individual audit trail entries: those of a minute become one
 * entry per key and action, with their count. When a process is killed, at most a minute's counts are lost.
 */
export class AccessTally {
  readonly #eventLog: EventLog;
  #counted = new Map<string, Counted>();
  #timer: NodeJS.Timeout | undefined;

  constructor(eventLog: EventLog) {
    this.#eventLog = eventLog;
  }

  /** Counts one. */
  add({ workspace, principal }: Caller, action: AccessAction): void {
    this.#count({ workspace, principal, action, count: 1 });
  }

  /** Records what was counted. Rejects with `unavailable`; what is not recorded then waits for the next time. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const counted = [...this.#counted.values()];
    this.#counted = new Map();
    const recorded = await Promise.allSettled(counted.map((one) => this.#record(one)));
    for (const [index, { status }] of recorded.entries()) {
      if (status === 'rejected') this.#count(counted[index] as Counted);
    }
    const failed = recorded.find(({ status }) => status === 'rejected');
    if (failed) throw (failed as PromiseRejectedResult).reason;
  }

  #count(one: Counted): void {
    const key = `${one.workspace} ${one.principal.id} ${one.action}`;
    const before = this.#counted.get(key);
    this.#counted.set(key, { ...one, count: one.count + (before?.count ?? 0) });
    this.#timer ??= setTimeout(() => this.flush().catch(() => undefined), EVERY_MS).unref();
  }

  #record({ workspace, principal, action, count }: Counted): Promise<void> {
    const caller = { workspace, principal, requestId: uuidv7() };
    return recordFurtherAccess(this.#eventLog, caller, { action, count });
  }
}

/** How long the audit trail may lack what was sent, in milliseconds. */
const EVERY_MS = 60_000;
/** How many events it may lack. */
const MAX_EVENTS = 10_000;
const MAX_RANGES = 20;

/** How often to record; shorter in tests. */
export interface SentEventsLimits {
  everyMs?: number;
  maxEvents?: number;
}

/** What was sent under the same terms. */
interface Account {
  ranges: PositionRange[];
  count: number;
  terms: DisclosureTerms | undefined;
}

/** Writes what was sent under some terms to the audit trail. Rejects with `unavailable`. */
type RecordSent = (
  sent: Pick<DisclosedRange, 'ranges' | 'count'>,
  terms: DisclosureTerms | undefined,
) => Promise<void>;

/**
 * Keeps account of the events sent to one reader, for the audit trail. What is sent after a pause is recorded first; what follows
 * within a minute is recorded together, at the end of that minute or with the 10,000th event. While the trail cannot be written,
 * nothing beyond that is sent. Events sent under different terms are recorded separately.
 */
export class SentEvents {
  readonly #record: RecordSent;
  readonly #everyMs: number;
  readonly #maxEvents: number;
  /** What is not recorded yet; new events are added to the last one. */
  #accounts: Account[] = [];
  #recordedAt = Number.NEGATIVE_INFINITY;
  #recording: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(record: RecordSent, { everyMs = EVERY_MS, maxEvents = MAX_EVENTS }: SentEventsLimits = {}) {
    this.#record = record;
    this.#everyMs = everyMs;
    this.#maxEvents = maxEvents;
  }

  /**
   * Notes events that are about to be sent, under terms that may differ from earlier ones; they may be sent once `recordDue` has
   * resolved.
   */
  add(range: PositionRange, count = 1, terms?: DisclosureTerms): void {
    this.#note({ ranges: [range], count, terms });
  }

  /** Records what was noted if it is due, or schedules that. Rejects with `unavailable`. */
  async recordDue(): Promise<void> {
    const waits = this.#recordedAt + this.#everyMs - performance.now();
    const count = this.#accounts.reduce((sum, account) => sum + account.count, 0);
    if (waits <= 0 || count >= this.#maxEvents || this.#accounts.length > 1) return this.flush();
    this.#recordIn(waits);
  }

  /** Records what is not recorded yet. Rejects with `unavailable`; what was to be recorded then waits for the next time. */
  async flush(): Promise<void> {
    while (this.#recording) await this.#recording.catch(() => undefined);
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#accounts.length === 0) return;
    const accounts = this.#accounts;
    const recordedAt = this.#recordedAt;
    this.#accounts = [];
    this.#recordedAt = performance.now();
    this.#recording = this.#recordAll(accounts)
      .catch((error) => {
        const since = this.#accounts;
        this.#accounts = accounts;
        for (const account of since) this.#note(account);
        this.#recordedAt = recordedAt;
        throw error;
      })
      .finally(() => {
        this.#recording = undefined;
      });
    return this.#recording;
  }

  /** Removes each account from the list as it is recorded. */
  async #recordAll(accounts: Account[]): Promise<void> {
    for (let [first] = accounts; first !== undefined; [first] = accounts) {
      const { ranges, count, terms } = first;
      await this.#record({ ranges, count }, terms);
      accounts.shift();
    }
  }

  #note({ ranges, count, terms }: Account): void {
    let last = this.#accounts.at(-1);
    if (last === undefined || !isDeepStrictEqual(last.terms, terms)) {
      last = { ranges: [], count: 0, terms };
      this.#accounts.push(last);
    }
    for (const range of ranges) last.ranges = withRange(last.ranges, range, MAX_RANGES);
    last.count += count;
  }

  #recordIn(ms: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      // Whatever is sent next also tries again, and waits for that.
      this.flush().catch(() => this.#recordIn(this.#everyMs));
    }, ms).unref();
  }
}

const CHUNK = 500;

/** The event with which everything before it in its stream was erased. */
type Erasure = Pick<RecordedEvent, 'position' | 'recordedAt'>;

/** A version of a record or document, or an event of an encounter's billing, and its place in the log. */
interface AccessedVersion {
  version: number;
  position: Position;
  /** Type of the event; undefined if it was erased and nothing records it. */
  type: string | undefined;
  /** Absent if it was erased, or has no contents. */
  words?: ContentWords | undefined;
  /** What removed it from the log. */
  erasedBy?: Erasure;
}

/**
 * A record or document, or an encounter's billing (`readiness`), that people may have seen, and its versions, in order, including
 * erased ones.
 */
export interface AccessedSubject {
  kind: string;
  /** The caller's id of the record; for a document, that of its encounter. */
  id: string;
  documentId?: string;
  versions: AccessedVersion[];
}

/**
 * Returns what a stream contains or contained; without versions when it does not exist. Rejects with `unreadable` and
 * `unavailable`.
 */
export async function accessedSubject(eventLog: EventLog, stream: string): Promise<AccessedSubject> {
  const versions = new Map<number, AccessedVersion>();
  const contents = new ContentReader();
  for (let from = 0; ; ) {
    const events = await eventLog.readStream(stream, { from, limit: CHUNK });
    for (const event of events) addVersion(versions, event, contents.next(event));
    if (events.length < CHUNK) break;
    from = (events.at(-1)?.revision ?? from) + 1;
    await nextTurn();
  }
  const kind = kindOfStream(stream);
  const { encounterId, documentId } = documentIdsOf(stream);
  const ids = kind === 'document' ? { id: encounterId, documentId } : { id: recordIdOf(stream) };
  return { kind, ...ids, versions: [...versions.values()].sort((a, b) => a.version - b.version) };
}

function addVersion(
  versions: Map<number, AccessedVersion>,
  event: RecordedEvent,
  words: ContentWords | undefined,
): void {
  const { revision, position, recordedAt, type } = event;
  const step = erasureStep(event);
  if (step !== undefined) {
    // An event that still exists, as its removal was interrupted, has its type.
    for (const one of dataAs<RecordErased>(event.data).erased) {
      const known = versions.get(one.version);
      if (known === undefined)
        versions.set(one.version, { version: one.version, position: one.position, type: undefined });
    }
  }
  if (step === 'done') {
    const erasedBy = { position, recordedAt };
    const parts = Number(event.data.parts);
    for (const one of versions.values()) {
      if (one.version <= revision + 1 - parts) one.erasedBy ??= erasedBy;
    }
  }
  versions.set(revision + 1, { version: revision + 1, position, type, words });
}

/** Accesses whose ranges are where records begin. */
const listingActions: ReadonlySet<string> = new Set<AccessAction>([
  'record.list',
  'record.reconcile',
  'retention.list',
]);

/** Accesses whose entries name ranges of the log, or several records, not a single one. */
const rangeActions: readonly AccessAction[] = [
  'record.list',
  'record.search',
  'record.reconcile',
  'record.changes',
  'record.diff',
  'record.undo',
  'record.readiness',
  'readiness.export',
  'readiness.simulation',
  'retention.list',
  'events.read',
  'events.sent',
  'webhook.sent',
  'webhook.attempts',
  'export',
];
/** Those of them that are recorded after the data were sent: within minutes, unless the log was unreachable. */
const recordedLater: readonly string[] = ['events.sent', 'webhook.sent'] satisfies AccessAction[];
const LATER_MS = 86_400_000;

interface Place {
  thing: AccessedSubject;
  version: AccessedVersion;
}

/** What an entry names by id; without a document id, all documents of the encounter. */
interface Named extends Pick<AccessedSubject, 'kind' | 'id'> {
  documentId: string | undefined;
}

/** What an access showed, or may have shown: versions of a thing; none when the entry names the thing. */
export interface IndexedAccess {
  thing: AccessedSubject;
  versions: number[];
}

/**
 * Determines by which accesses one of several things was seen, or may have been: those that name one, and those to lists,
 * streams, exports and webhooks that were shown its events.
 */
export class AccessIndex {
  readonly #named = new Map<string, AccessedSubject[]>();
  /** By ascending position. */
  readonly #places: Place[];

  constructor(things: readonly AccessedSubject[]) {
    for (const thing of things) {
      const name = nameOf(thing);
      this.#named.set(name, [...(this.#named.get(name) ?? []), thing]);
    }
    this.#places = things
      .flatMap((thing) => thing.versions.map((version) => ({ thing, version })))
      .sort((a, b) => a.version.position - b.version.position);
  }

  /** Returns a test for signatures (`anySignatureTest`) that skips chunks without a sighting with these values. */
  signatureTest(others: AuditFacetValues): (signatures: string) => boolean {
    const named = [...this.#named.values()].flatMap((things) =>
      things.slice(0, 1).map(({ kind, id }) => ({ kind, id })),
    );
    const ranges = rangeActions
      .filter((action) => others.action === undefined || others.action === action)
      .map((action) => ({ action }));
    return anySignatureTest([...named, ...ranges].map((one) => ({ ...others, ...one })));
  }

  /** Whether an audit trail entry records such an access. */
  has(entry: AuditEntry): boolean {
    return !this.#shownBy(entry).next().done;
  }

  /** Returns what an audit trail entry showed of these things. */
  in(entry: AuditEntry): IndexedAccess[] {
    const sightings = new Map<AccessedSubject, IndexedAccess>();
    for (const { thing, version } of this.#shownBy(entry)) {
      const sighting = sightings.get(thing) ?? { thing, versions: [] };
      if (version) sighting.versions.push(version.version);
      sightings.set(thing, sighting);
    }
    return [...sightings.values()];
  }

  *#shownBy(entry: AuditEntry): Generator<{ thing: AccessedSubject; version?: AccessedVersion }> {
    const { type, action, code, shown, kind, id, documentId } = entry;
    // Who has read the trail of a record has seen no field of it.
    if (type !== 'AccessRecorded' || code !== undefined || action?.startsWith('audit.')) return;
    if (shown === undefined) {
      if (kind !== undefined && id !== undefined) yield* this.#namedBy({ kind, id, documentId });
    } else if (shown.things) {
      for (const one of shown.things)
        yield* this.#namedBy({ kind: one.kind, id: one.record_id, documentId: one.document_id });
    } else if (action !== undefined && listingActions.has(action)) {
      for (const place of this.#within(shown)) {
        if (place.thing.kind === kind && wasListed(place, entry)) yield { thing: place.thing };
      }
    } else {
      for (const place of this.#within(sentBy(entry, shown))) {
        if (wasSent(place, entry, shown)) yield place;
      }
    }
  }

  *#namedBy({ kind, id, documentId }: Named): Generator<{ thing: AccessedSubject }> {
    for (const thing of this.#named.get(nameOf({ kind, id })) ?? []) {
      if (documentId === undefined || thing.documentId === documentId) yield { thing };
    }
  }

  *#within({ ranges }: Pick<DisclosedRange, 'ranges'>): Generator<Place> {
    for (const { from, to } of ranges) {
      for (let at = this.#firstAt(from); at < this.#places.length; at++) {
        const place = this.#places[at] as Place;
        if (place.version.position > to) break;
        yield place;
      }
    }
  }

  /** Returns the index of the first place at or after a position. */
  #firstAt(position: Position): number {
    let [low, high] = [0, this.#places.length];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((this.#places[middle] as Place).version.position < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function nameOf({ kind, id }: Pick<AccessedSubject, 'kind' | 'id'>): string {
  return `${kind} ${id}`;
}

/** An export extends up to its own entry, unless the entry states how many events it wrote. */
function sentBy({ action, position }: AuditEntry, shown: DisclosedRange): Pick<DisclosedRange, 'ranges'> {
  const isOpen = action === 'export' && shown.count === undefined;
  return isOpen ? { ranges: shown.ranges.map(({ from }) => ({ from, to: position })) } : shown;
}

/** Lists are recorded by where records begin; for a record whose beginning was erased, perhaps by its tombstones. */
function wasListed({ thing, version }: Place, { position }: AuditEntry): boolean {
  const isBeginning = version === thing.versions[0] || isTombstone(version);
  return (
    isBeginning &&
    thing.versions.some(
      (one) =>
        !isTombstone(one) &&
        one.position < position &&
        (one.erasedBy === undefined || position < one.erasedBy.position),
    )
  );
}

function wasSent({ thing, version }: Place, entry: AuditEntry, { event_types }: DisclosedRange): boolean {
  return (
    !wasErasedBefore(version, entry) && (event_types === undefined || isOneOf(event_types, thing, version))
  );
}

function wasErasedBefore(
  { erasedBy }: AccessedVersion,
  { action = '', position, recordedAt }: AuditEntry,
): boolean {
  if (erasedBy === undefined || position < erasedBy.position) return false;
  const isLate = recordedLater.includes(action);
  return !isLate || Date.parse(recordedAt) > Date.parse(erasedBy.recordedAt) + LATER_MS;
}

/** Whether a version belongs to what was limited to some event types, named as in the log or in the stream. */
function isOneOf(
  eventTypes: readonly string[],
  { kind }: AccessedSubject,
  { type }: AccessedVersion,
): boolean {
  const types = eventTypesOf(kind).filter((one) => one !== RECORD_ERASED);
  if (type === undefined) return types.some((one) => eventTypes.includes(one));
  if (type !== RECORD_ERASED) return eventTypes.includes(type);
  // An export names the tombstones of all kinds alike, besides the changes of its own kind.
  const isOfKind = types.some((one) => eventTypes.includes(one));
  return eventTypes.includes(`${type}/${kind}`) || (isOfKind && eventTypes.includes(type));
}

function isTombstone({ type }: AccessedVersion): boolean {
  return type !== undefined && tombstoneTypes.includes(type);
}

const AT_ONCE = 16;

/**
 * Returns everything that is or was of a patient and of those merged into that one: their records, every record that refers or
 * ever referred to them, and for encounters their documents and billing; including what was erased. As of every write
 * acknowledged before the call. Rejects with `not_found` when there never was such a patient, with `unreadable` and
 * `unavailable`.
 */
export async function patientThings(
  ports: QueryPorts,
  workspace: string,
  id: string,
): Promise<AccessedSubject[]> {
  const { eventLog, readModels } = ports;
  const stream = recordStream(workspace, patient.kind, id);
  const own = await accessedSubject(eventLog, stream);
  if (own.versions.length === 0) throw notFound(patient.title);
  await Promise.all([recordsModel, documentsModel].map((model) => caughtUp(ports, model, 'report')));
  const referrers = await allReferrers(readModels, stream);
  const encounters = referrers.filter((one) => kindOfStream(one) === encounter.kind);
  const documents = await mapWithLimit(encounters, (one) => documentsOf(readModels, one));
  const readiness = encounters.map((one) => encounterReadinessStream(workspace, recordIdOf(one)));
  const others = [...referrers, ...documents.flat(), ...readiness];
  return [own, ...(await mapWithLimit(others, (one) => accessedSubject(eventLog, one)))];
}

/**
 * Returns the streams of everything that refers or ever referred to a patient, and to those merged into that one. A patient who
 * exists and was merged into it in error is a different person.
 */
async function allReferrers(readModels: ReadModels, stream: string): Promise<string[]> {
  const found = new Set<string>();
  const patients = new Set([stream]);
  for (const one of patients) {
    const references = allRows(readModels, patientReferencesModel, referrersPartition(one));
    const streams = await Array.fromAsync(references, ({ body }) => body.stream);
    const others = streams.filter((other) => kindOfStream(other) === patient.kind);
    for (const row of await readModels.load(recordsModel, others)) {
      const state = bodyOf(row);
      if (state?.erased || state?.fields.merged_into === recordIdOf(one)) patients.add(row.id);
    }
    for (const other of streams) if (!others.includes(other)) found.add(other);
  }
  patients.delete(stream);
  return [...patients, ...found];
}

async function documentsOf(readModels: ReadModels, encounterStream: string): Promise<string[]> {
  const rows = await Promise.all(
    everyDocumentPartition(encounterStream).map((partition) =>
      Array.fromAsync(allRows(readModels, documentsModel, partition)),
    ),
  );
  return rows.flat().map(({ id }) => id);
}

/** Returns the results of `work` for each item, run several at a time. */
async function mapWithLimit<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < items.length; at += AT_ONCE) {
    results.push(...(await Promise.all(items.slice(at, at + AT_ONCE).map(work))));
  }
  return results;
}
