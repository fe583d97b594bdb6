import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TreeLeaf } from '../../../projections/tree.ts';
import {
  dataAs,
  type ErasedEvent,
  type Position,
  type Principal,
  type RecordedEvent,
  type UnreadableEvent,
} from '../../domain/events/event.ts';
import { erasureStep, type RecordErased } from '../../domain/events/payloads.ts';
import { isBookkeeping, SubjectOwners, sharedStreams } from '../../domain/events/streams.ts';
import { addLeaf, emptyTree, eventLeaf, type Hash, type HashTree, treeRoot } from '../../domain/merkle.ts';
import { uploadedBy } from '../../domain/records/document.ts';
import { ServiceError, unavailable } from '../../platform/errors.ts';
import type { DocumentStore } from '../../storage/documentStore.ts';
import { type EventBatch, type EventFilter, type EventLog, inLogOrder } from '../../storage/eventLog.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { checkedContent, DocumentMismatch } from '../records/queries/documents.ts';
import { storedLeaves } from './proofs.ts';
import type { LastEvent, TreeHead } from './publicKeys.ts';

/** An erasure reported by a tombstone. */
interface ReportedErasure {
  stream: string;
  /** Number of versions listed by the erasure's tombstones. */
  versions: number;
  reason: string;
  principal: Principal;
  /** ISO 8601, UTC. */
  erased_at: string;
}

/** Checks the places of erased events against the tombstones that stand for them. */
export class ErasureCheck {
  /** From the last tombstone of each erasure that removed something, in log order. */
  readonly reported: ReportedErasure[] = [];
  /** Erased events for which no tombstone was found yet, by position. */
  readonly #unnamed = new Map<number, ErasedEvent>();
  /** Streams whose tombstones have named erased events, until their last tombstone. */
  readonly #naming = new Set<string>();
  #count = 0;

  /** Number of erased events. */
  get count(): number {
    return this.#count;
  }

  /** Takes the next entry of the log. An erased event comes before its tombstones. */
  check(event: RecordedEvent | UnreadableEvent | ErasedEvent): void {
    if ('data' in event) {
      if (erasureStep(event)) this.#checkTombstone(event);
    } else if ('leaf' in event) {
      this.#count += 1;
      this.#unnamed.set(event.position, event);
    }
  }

  /** The first erased event without a tombstone: it is missing. */
  get unnamed(): ErasedEvent | undefined {
    const [first] = [...this.#unnamed.values()].sort((a, b) => a.position - b.position);
    return first;
  }

  #checkTombstone(event: RecordedEvent): void {
    const { erased, reason, part, parts } = dataAs<RecordErased>(event.data);
    for (const { position, event_id, leaf } of erased) {
      const place = this.#unnamed.get(position);
      if (place?.id !== event_id || place.leaf !== leaf) continue;
      this.#unnamed.delete(position);
      this.#naming.add(event.stream);
    }
    // An erasure that came after a legal hold removed nothing.
    if (part !== parts || !this.#naming.delete(event.stream)) return;
    const { stream, revision, recordedAt, metadata } = event;
    const versions = revision + 1 - parts;
    this.reported.push({ stream, versions, reason, principal: metadata.principal, erased_at: recordedAt });
  }
}

/** Number of 32-bit words per entry: 128 bits of a hash, enough to be practically sure that an id is repeated, or not. */
const WORDS = 4;
const FIRST_ENTRIES = 1 << 12;

/** A set of many millions of event ids, in 32 to 64 bytes each; a `Set` of strings ends at 16 million. */
class EventIds {
  #words = new Uint32Array(FIRST_ENTRIES * WORDS);
  #size = 0;

  /** Adds an id; false when it was already present. */
  add(id: string): boolean {
    const entry = hash('sha256', id, 'buffer');
    const words = Array.from({ length: WORDS }, (_, at) => entry.readUInt32LE(at * 4));
    if (!this.#insert(words)) return false;
    this.#size += 1;
    if (this.#size * 2 > this.#words.length / WORDS) this.#grow();
    return true;
  }

  #insert(words: ArrayLike<number>): boolean {
    const entries = this.#words.length / WORDS;
    for (let entry = (words[0] as number) % entries; ; entry = (entry + 1) % entries) {
      const place = this.#words.subarray(entry * WORDS, (entry + 1) * WORDS);
      // No hash is all zeros.
      if (place.every((word) => word === 0)) {
        place.set(words);
        return true;
      }
      if (place.every((word, at) => word === words[at])) return false;
    }
  }

  #grow(): void {
    const before = this.#words;
    this.#words = new Uint32Array(before.length * 2);
    for (let at = 0; at < before.length; at += WORDS) {
      const words = before.subarray(at, at + WORDS);
      if (words.some((word) => word !== 0)) this.#insert(words);
    }
  }
}

/** Number of events per oddity that are listed; the rest are counted. */
const NAMED = 20;

/**
 * What is odd about an event: it claims to be older than the preceding head; it has the id of another event; it claims to be
 * older than the event before it.
 */
const anomalyKinds = ['olderThanHead', 'repeatedId', 'olderThanBefore'] as const;
type AnomalyKind = (typeof anomalyKinds)[number];

interface OddEvent extends Pick<RecordedEvent, 'id' | 'stream' | 'revision' | 'position' | 'recordedAt'> {
  /** The time that it should not precede; absent if the oddity is its id. */
  notBefore?: string;
}

/** How many events have an oddity, and the first of them. */
interface OddEvents {
  count: number;
  first: OddEvent[];
}

type Anomalies = Record<AnomalyKind, OddEvents>;

/** Examines the events of a workspace, one after the other, for anything that no service would have written. */
class AnomalyDetector {
  readonly found: Anomalies = {
    olderThanHead: { count: 0, first: [] },
    repeatedId: { count: 0, first: [] },
    olderThanBefore: { count: 0, first: [] },
  };
  readonly #ids = new EventIds();
  readonly #headTimes: Map<number, string | undefined>;
  /** Time of the last head passed. */
  #headTime: string | undefined;
  #before: string | undefined;

  constructor(heads: readonly TreeHead[]) {
    this.#headTimes = new Map(heads.map((head) => [head.size, head.last_event_recorded_at]));
  }

  /** Examines event number `size` of the workspace, counted from 1. */
  check(event: RecordedEvent, size: number): void {
    const { id, recordedAt } = event;
    if (!this.#ids.add(id)) this.#note('repeatedId', event);
    if (this.#headTime !== undefined && recordedAt < this.#headTime) {
      this.#note('olderThanHead', event, this.#headTime);
    } else if (this.#before !== undefined && recordedAt < this.#before) {
      this.#note('olderThanBefore', event, this.#before);
    }
    // The event at a head's end is covered by its hash: if the head has no time, the event's is used.
    if (this.#headTimes.has(size)) this.#headTime = this.#headTimes.get(size) ?? recordedAt;
    this.#before = recordedAt;
  }

  #note(kind: AnomalyKind, event: RecordedEvent, notBefore?: string): void {
    const events = this.found[kind];
    events.count += 1;
    if (events.first.length === NAMED) return;
    const { id, stream, revision, position, recordedAt } = event;
    events.first.push({ id, stream, revision, position, recordedAt, ...(notBefore && { notBefore }) });
  }
}

/** The log itself waits for a store that is unreachable; nobody watching a screen waits longer than this. */
const STALLED_MS = 30_000;

/** The part of the log to read: after one position, up to and including another, which the log has reached. */
interface LogRange {
  after: Position;
  until: Position;
}

/** Contents of a range of the log. */
export type RangeBatch = Required<Pick<EventBatch, 'events' | 'unreadable' | 'erased' | 'position'>>;

/**
 * Yields all wanted events of a range of the log, those that cannot be read, and the places of erased ones. Rejects with
 * `unavailable` when the log does not advance for half a minute.
 */
export async function* readLog(
  eventLog: EventLog,
  { after, until }: LogRange,
  filter?: EventFilter,
): AsyncGenerator<RangeBatch> {
  const stop = new AbortController();
  const batches = eventLog
    .follow({ after, ...(filter && { filter }), erased: true, signal: stop.signal })
    [Symbol.asyncIterator]();
  const isWithin = ({ position }: { position: Position }) => position <= until;
  try {
    for (let position = after; position < until; ) {
      const { value, done } = await within(batches.next(), position);
      if (done) throw stalled(position);
      const batch: EventBatch = value;
      position = batch.position;
      yield {
        events: batch.events.filter(isWithin),
        unreadable: (batch.unreadable ?? []).filter(isWithin),
        erased: (batch.erased ?? []).filter(isWithin),
        position: Math.min(position, until),
      };
    }
  } finally {
    // Otherwise an iteration waiting for its next batch would only then learn that it is to end.
    stop.abort();
    await batches.return?.();
  }
}

async function within<Result>(work: Promise<Result>, position: Position): Promise<Result> {
  const over = new AbortController();
  const late = sleep(STALLED_MS, undefined, { signal: over.signal }).then(() => {
    throw stalled(position);
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    over.abort();
  }
}

function stalled(position: Position): ServiceError {
  return unavailable(`event log after position ${position}`);
}

/**
 * Yields all events of a workspace in log order: those of its own streams, and its own in shared ones; of erased ones, only those
 * of its own streams. Unreadable are those of its own streams and all of shared ones, which may be its own; also, of whichever
 * workspace, those in shared streams that are about a subject of another one (`SubjectOwners`), as far as the range shows. Rejects as
 * `readLog` does.
 */
export async function* readWorkspace(
  eventLog: EventLog,
  workspace: string,
  range: LogRange,
): AsyncGenerator<RangeBatch> {
  const prefix = `${workspace}.`;
  const isOwn = ({ stream }: { stream: string }) => stream.startsWith(prefix);
  const isShared = ({ stream }: { stream: string }) => sharedStreams.includes(stream);
  const owners = new SubjectOwners();
  const batches = readLog(eventLog, range, { streamPrefixes: [prefix, ...sharedStreams] });
  for await (const { events, unreadable, erased, position } of batches) {
    const misplaced = new Set(events.filter((event) => isShared(event) && !owners.take(event)));
    yield {
      events: events.filter(
        (event) =>
          event.metadata.workspace === workspace && !isBookkeeping(event.stream) && !misplaced.has(event),
      ),
      unreadable: [
        ...unreadable.filter((event) => isOwn(event) || isShared(event)),
        ...[...misplaced].map(
          ({ id, type, stream, revision, position: at }): UnreadableEvent => ({
            ...{ id, type, stream, revision, position: at },
            misplaced: true,
          }),
        ),
      ],
      erased: erased.filter(isOwn),
      position,
    };
  }
}

/** The findings of a verification, a line each. */
interface VerifiedTexts {
  /** What does not hold; empty: everything holds. */
  problems: string[];
  /** What proves nothing by itself. */
  remarks: string[];
}

const differenceTexts: Record<Difference['what'], string> = {
  changed: 'was changed',
  unreadable: 'cannot be read: its bytes were changed',
  misplaced:
    'was not written by the service: its metadata name another workspace than the one it is stored for',
  missing: 'is missing',
  added: 'was added later',
};

const odd: Record<AnomalyKind, (event: OddEvent) => string> = {
  olderThanHead: ({ recordedAt, notBefore }) =>
    `claims to have been recorded at ${recordedAt}, before the signed head's last event (${notBefore}), but was not in the head`,
  repeatedId: () => 'has the id of an earlier event',
  olderThanBefore: ({ recordedAt, notBefore }) =>
    `claims to have been recorded at ${recordedAt}, before the preceding event (${notBefore})`,
};

/** Describes the findings of a verification. Clocks are set back, and leaders change: a decreasing time is a remark. */
export function verifiedTexts({ difference, headProblem, oddities }: Verified): VerifiedTexts {
  if (difference) return { problems: [describe(difference)], remarks: [] };
  if (headProblem) {
    const { head, problem } = headProblem;
    const text = `The log does not match the head that was signed at ${head.created_at}: ${problem}.`;
    return { problems: [text], remarks: [] };
  }
  const problems: string[] = [];
  const remarks: string[] = [];
  for (const kind of anomalyKinds) {
    const lines = describeOdd(kind, oddities[kind]);
    const [first] = lines;
    if (kind !== 'olderThanBefore') problems.push(...lines);
    else if (first)
      remarks.push(
        `Events whose times go backwards, as happens when a clock is set back or the leader changes: ${count(oddities[kind].count)}. The first: ${first}`,
      );
  }
  return { problems, remarks };
}

function describe({ what, position, stream, version, eventId }: Difference): string {
  const place = stream === undefined ? '' : `stream ${stream}, version ${version}, `;
  return `The event at position ${position} ${differenceTexts[what]}: ${place}event ${eventId}.`;
}

/** Returns a line for each odd event collected, and one for the number of others. */
function describeOdd(kind: AnomalyKind, { count: all, first }: OddEvents): string[] {
  const lines = first.map((event) => {
    const { position, stream, revision, id } = event;
    return `The event at position ${position} ${odd[kind](event)}: stream ${stream}, version ${revision + 1}, event ${id}.`;
  });
  return all === first.length
    ? lines
    : [...lines, `The same applies to ${count(all - first.length)} more events.`];
}

function count(things: number): string {
  return things.toLocaleString('en');
}

/** A version of a document whose bytes do not match the log. */
export interface DocumentProblem {
  what: 'changed' | 'missing';
  position: Position;
  stream: string;
  version: number;
  objectId: string;
}

interface VerifiedDocuments {
  /** Number of versions whose bytes are those that were uploaded. */
  verified: number;
  /** Number of versions that were replaced or removed, and whose bytes are no longer stored. */
  gone: number;
}

interface Options {
  onProblem(problem: DocumentProblem): void;
  /** Called with the position in the log, where it will end, and the number of versions processed. */
  onProgress?(position: Position, until: Position, versions: number): void;
}

/**
 * Reads the bytes of every version of every document of a workspace and compares them with their digests in the log. Rejects with
 * `unavailable` when a store is unreachable.
 */
export async function verifyDocuments(
  { eventLog, documentStore }: { eventLog: EventLog; documentStore: DocumentStore },
  workspace: string,
  { onProblem, onProgress }: Options,
): Promise<VerifiedDocuments> {
  const counts = { verified: 0, gone: 0 };
  let versions = 0;
  const until = await eventLog.head();
  for await (const { events, position } of readWorkspace(eventLog, workspace, { after: 0, until })) {
    for (const event of events) {
      if (event.type !== 'DocumentUploaded') continue;
      versions += 1;
      const found = await verifyStoredDocument(documentStore, event);
      if (found === 'verified') counts.verified += 1;
      else if (found === 'missing' && !(await isCurrent(eventLog, event))) counts.gone += 1;
      else onProblem({ what: found, ...placeOf(event) });
    }
    onProgress?.(position, until, versions);
  }
  return counts;
}

async function verifyStoredDocument(
  store: DocumentStore,
  event: RecordedEvent,
): Promise<'verified' | 'changed' | 'missing'> {
  const document = uploadedBy(event);
  try {
    const content = await store.get(document.object_id);
    for await (const _chunk of checkedContent(content, document));
    return 'verified';
  } catch (error) {
    if (error instanceof DocumentMismatch) return 'changed';
    if (error instanceof ServiceError && error.code === 'not_found') return 'missing';
    throw error;
  }
}

/** Whether a document was neither replaced nor removed since an upload. Rejects with `unavailable`, and with `unreadable`. */
export async function isCurrent(eventLog: EventLog, { stream, revision }: RecordedEvent): Promise<boolean> {
  const [last] = await eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
  return last?.revision === revision;
}

function placeOf(event: RecordedEvent): Omit<DocumentProblem, 'what'> {
  const { position, stream, revision } = event;
  return { position, stream, version: revision + 1, objectId: uploadedBy(event).object_id };
}

export interface VerifyPorts {
  eventLog: EventLog;
  readModels: ReadModels;
}

export interface VerifyOptions {
  /** Heads of this workspace signed earlier; their signatures have been checked. */
  heads?: readonly TreeHead[];
  /** By id of a replaced key: position of the event that replaced it; the key signs nothing after it. */
  keyEnds?: ReadonlyMap<string, Position>;
  /** Called with the position in the log, where it will end, and the number of events that held. */
  onProgress?: ((position: Position, until: Position, events: number) => void) | undefined;
}

/** The first event that is not what it was. */
export interface Difference {
  /** `misplaced`: its metadata name another workspace than its stream or, in a shared stream, than that of its subject. */
  what: 'changed' | 'unreadable' | 'misplaced' | 'missing' | 'added';
  position: Position;
  eventId: string;
  /** Unknown for a missing event. */
  stream?: string;
  version?: number;
}

/** A signed head that does not match the log. */
interface HeadProblem {
  head: TreeHead;
  problem: string;
}

export interface Verified {
  /** Over all events of the workspace, as far as they were sound. */
  tree: HashTree;
  lastEvent: LastEvent | null;
  /** How many of them were in the read model, and compared with it. */
  compared: number;
  difference?: Difference;
  /** The first of the signed heads, by size, that the log does not match, and in what way. */
  headProblem?: HeadProblem;
  /** Events that no service would have written. */
  oddities: Anomalies;
  /** Number of erased events, and the erasures that report them. */
  erased: { count: number; reported: readonly ReportedErasure[] };
}

/**
 * Recomputes the tree of a workspace from the log, up to its current end, and compares it leaf by leaf with the read model's, as
 * far as that reaches, and with signed heads. Ends at the first difference; oddities of events that differ from nothing known are
 * collected.
 */
export async function verifyWorkspace(
  { eventLog, readModels }: VerifyPorts,
  workspace: string,
  { heads = [], keyEnds = new Map(), onProgress }: VerifyOptions,
): Promise<Verified> {
  // In this order: whatever the read model holds by now is in the log when its end is requested.
  const stored = await storedLeaves(readModels, workspace);
  const until = await eventLog.head();
  const bySize = Map.groupBy(heads, ({ size }) => size);
  const oddities = new AnomalyDetector(heads);
  const erasures = new ErasureCheck();
  const result: Verified = {
    ...{ tree: emptyTree, lastEvent: null, compared: 0, oddities: oddities.found },
    erased: erasures,
  };
  const differs = (difference: Difference): Verified => ({ ...result, difference });

  for await (const batch of readWorkspace(eventLog, workspace, { after: 0, until })) {
    for (const event of inLogOrder(batch)) {
      const expected = (await stored.leaves.next()).value;
      const place = expected && comparePlaces(event, expected);
      if (place) return differs(place);
      const leaf = leafOf(event);
      if (leaf === undefined) return differs(named(event, unreadableAs(event)));
      // The original event gives its name if a different one is there now.
      if (expected && expected[2] !== leaf)
        return differs({ ...named(event, 'changed'), eventId: expected[1] });
      result.tree = addLeaf(result.tree, leaf);
      if ('data' in event) {
        result.lastEvent = event;
        oddities.check(event, result.tree.size);
      }
      if (!isValidTombstone(erasures, event)) return differs(named(event, 'unreadable'));
      if (expected) result.compared += 1;
      for (const head of bySize.get(result.tree.size) ?? []) {
        const problem = headProblem(head, result.tree, event.position, keyEnds);
        if (problem) return { ...result, headProblem: { head, problem } };
      }
    }
    onProgress?.(batch.position, until, result.tree.size);
  }
  const unnamed = await unnamedErasure(eventLog, workspace, erasures, until);
  if (unnamed) return differs(named(unnamed, 'missing'));
  const { size } = result.tree;
  const expected = size < stored.size ? (await stored.leaves.next()).value : undefined;
  if (expected) return differs(missing(expected));
  const beyond = heads.filter((head) => size < head.size).sort((a, b) => a.size - b.size)[0];
  if (beyond === undefined) return result;
  const problem = `it contains ${size} events, but ${beyond.size} were signed`;
  return { ...result, headProblem: { head: beyond, problem } };
}

/** Returns the leaf of an event, or of an erased one; undefined for one that cannot be read. */
function leafOf(event: RecordedEvent | UnreadableEvent | ErasedEvent): Hash | undefined {
  if ('data' in event) return eventLeaf(event);
  return 'leaf' in event ? event.leaf : undefined;
}

type EventLocation = Pick<UnreadableEvent, 'id' | 'stream' | 'revision' | 'position'>;

/** Returns an erased event without a tombstone, not even one after the end that the log had at the start. */
async function unnamedErasure(
  eventLog: EventLog,
  workspace: string,
  erasures: ErasureCheck,
  until: Position,
): Promise<ErasedEvent | undefined> {
  if (erasures.unnamed === undefined) return undefined;
  const range = { after: until, until: await eventLog.head() };
  for await (const { events } of readWorkspace(eventLog, workspace, range)) {
    for (const event of events) erasures.check(event);
  }
  return erasures.unnamed;
}

/** Returns what is wrong with a head of as many events as the tree has, the last of which is at a position. */
function headProblem(
  { size, root, chain, key_id }: TreeHead,
  tree: HashTree,
  position: Position,
  keyEnds: ReadonlyMap<string, Position>,
): string | undefined {
  if (treeRoot(tree) !== root || tree.chain !== chain)
    return `its first ${size} events are not those that were signed`;
  const end = keyEnds.get(key_id);
  return end !== undefined && position >= end
    ? `the key ${key_id}, which signed it, was replaced at position ${end}, but the head extends to position ${position}`
    : undefined;
}

function comparePlaces(
  event: RecordedEvent | UnreadableEvent | ErasedEvent,
  expected: TreeLeaf,
): Difference | undefined {
  const [position] = expected;
  if (event.position > position) return missing(expected);
  // The tree lacks events that were unreadable when projected.
  if (event.position < position)
    return named(event, leafOf(event) === undefined ? unreadableAs(event) : 'added');
  return undefined;
}

/** False for a tombstone that does not have the form of one: nothing has written it so. */
function isValidTombstone(erasures: ErasureCheck, event: Parameters<ErasureCheck['check']>[0]): boolean {
  try {
    erasures.check(event);
    return true;
  } catch {
    return false;
  }
}

function unreadableAs(event: object): 'misplaced' | 'unreadable' {
  return 'misplaced' in event ? 'misplaced' : 'unreadable';
}

function missing([position, eventId]: TreeLeaf): Difference {
  return { what: 'missing', position, eventId };
}

function named(event: EventLocation, what: Difference['what']): Difference {
  const { position, id, stream, revision } = event;
  return { what, position, eventId: id, stream, version: revision + 1 };
}
