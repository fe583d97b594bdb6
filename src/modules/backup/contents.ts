import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { canonicalJson } from '../../domain/events/canonicalJson.ts';
import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { erasureStep } from '../../domain/events/payloads.ts';
import { uploadedBy } from '../../domain/records/document.ts';
import { asUnreadable, ServiceError } from '../../platform/errors.ts';
import type { DocumentStore } from '../../storage/documentStore.ts';
import { type CopiedPlace, type EventLog, inLogOrder } from '../../storage/eventLog.ts';
import type { StateRow, StateStore, StateTable } from '../../storage/stateStore.ts';
import type { BackupTarget } from '../../storage/targets.ts';
import { messagesTable } from '../integrations/messages/message.ts';
import { readLog } from '../integrity/verify.ts';
import {
  type BackupFile,
  damaged,
  isEvent,
  MAX_LINES,
  type Manifest,
  readLines,
  type Segment,
  type Tombstone,
  Trees,
  toCopied,
  toRecorded,
  writeLineFiles,
} from './format.ts';

/** Compares the events of a backup with its manifest. */
export class LogCheck {
  /** By stream, the last upload of each document that was not removed since. */
  readonly documents = new Map<string, { objectId: string; position: Position }>();
  events = 0;
  readonly #trees = new Trees();
  readonly #problems: string[] = [];
  #isWhole = true;
  #last: Position = 0;

  /** Takes the next segment; undefined if it cannot be read. */
  add({ name, first, last, events }: Segment, places: CopiedPlace[] | undefined): void {
    this.#isWhole &&= places !== undefined;
    if (places === undefined) return;
    const isAsReported = places[0]?.position === first && places.at(-1)?.position === last;
    if (!isAsReported || places.length !== events || first <= this.#last)
      this.#problems.push(`The file ${name} does not contain the events that the manifest lists.`);
    for (const place of places) this.#place(place);
    this.#last = last;
  }

  /** Returns what is wrong with the log as a whole. */
  problems(manifest: Manifest): string[] {
    if (!this.#isWhole || this.#problems.length > 0) return this.#problems;
    if (this.events !== manifest.events)
      return ['The number of events in the backup differs from its manifest.'];
    return manifest.trees
      .filter(({ workspace, ...tree }) => {
        const { size, chain, subtrees } = this.#trees.get(workspace);
        return canonicalJson(tree) !== canonicalJson({ size, chain, subtrees });
      })
      .map(({ workspace }) => `The events of ${workspace} do not match its hash tree.`);
  }

  #place(place: CopiedPlace): void {
    this.events += 1;
    if ('leaf' in place) this.#trees.add(place);
    if (!isEvent(place)) return;
    const event = toRecorded(place);
    this.#trees.add(event);
    const { stream, position, type } = event;
    if (type === 'DocumentUploaded')
      this.documents.set(stream, { objectId: uploadedBy(event).object_id, position });
    else this.documents.delete(stream);
  }
}

/** Bytes of the document store that a backup has to contain. */
export interface ObjectRef {
  id: string;
  size: number;
  /** Lower-case hex. */
  sha256: string;
  /** The event that names it; absent for a message. */
  document?: Pick<RecordedEvent, 'stream' | 'revision' | 'position'>;
}

/** A segment with fewer bytes is extended with the next events, so that frequent backups do not accumulate many small files. */
const SMALL_BYTES = 1024 * 1024;

/** What a backup contains of the log. */
interface LoggedPart extends Pick<Manifest, 'segments' | 'trees' | 'last_position' | 'events'> {
  /** Number of events written. */
  added: number;
  /** Tombstones among them. */
  tombstones: Tombstone[];
  /** The documents whose upload they record. */
  uploads: ObjectRef[];
  problems: string[];
}

/** Called with the position of a backup in the log, where it will end, and the number of events written. */
export type OnProgress = (position: Position, until: Position, events: number) => void;

/** Writes the events after those already in the backup, up to a position. Rejects with `unavailable`. */
export async function backupLog(
  eventLog: EventLog,
  target: BackupTarget,
  previous: Manifest | undefined,
  until: Position,
  onProgress: OnProgress = () => undefined,
): Promise<LoggedPart> {
  const segments = [...(previous?.segments ?? [])];
  const after = previous?.last_position ?? 0;
  const trees = new Trees(previous?.trees);
  const part: LoggedPart = {
    ...{ segments, trees: previous?.trees ?? [], last_position: until, events: previous?.events ?? 0 },
    ...{ added: 0, tombstones: [], uploads: [], problems: [] },
  };
  if (until === after) return part;
  const places = async function* (): AsyncGenerator<CopiedPlace> {
    const last = segments.at(-1);
    if (last && last.bytes < SMALL_BYTES && last.events < MAX_LINES) {
      segments.pop();
      yield* await readLines<CopiedPlace>(target, last);
    }
    for await (const batch of readLog(eventLog, { after, until })) {
      for (const place of inLogOrder(batch)) {
        addEvent(part, trees, place);
        yield toCopied(place);
      }
      onProgress(batch.position, until, part.added);
    }
  };
  await writeLineFiles(target, segmentName, places(), (file, written) => {
    segments.push(segmentOf(file, written));
  });
  return { ...part, trees: trees.toManifest(), events: part.events + part.added };
}

/** Returns the bytes that an event names, if it is the upload of a document. */
export function uploadIn(event: RecordedEvent): ObjectRef | undefined {
  if (event.type !== 'DocumentUploaded') return undefined;
  const { object_id: id, size, sha256 } = uploadedBy(event);
  const { stream, revision, position } = event;
  return { id, size, sha256, document: { stream, revision, position } };
}

/** What is wrong with an event that cannot be read. */
export function unreadableProblem(position: Position): string {
  return `The event at position ${position} cannot be read. Run chartledger verify to find out why.`;
}

/** Records what an event means for the rest of the backup. */
function addEvent(part: LoggedPart, trees: Trees, place: Parameters<typeof toCopied>[0]): void {
  part.added += 1;
  if (!('data' in place) && !('leaf' in place)) {
    part.problems.push(unreadableProblem(place.position));
    return;
  }
  trees.add(place);
  if (!('data' in place)) return;
  const { stream, revision } = place;
  if (erasureStep(place)) part.tombstones.push({ stream, revision });
  const upload = uploadIn(place);
  if (upload) part.uploads.push(upload);
}

export function segmentName({ position }: CopiedPlace): string {
  return `log/${String(position).padStart(16, '0')}`;
}

export function segmentOf(file: Omit<Segment, 'first' | 'last' | 'events'>, written: CopiedPlace[]): Segment {
  const [first, last] = [written[0], written.at(-1)] as [CopiedPlace, CopiedPlace];
  return { ...file, first: first.position, last: last.position, events: written.length };
}

/** Bytes of the document store in a backup. `document` is also absent if an earlier version of the service wrote them. */
export interface StoredObject extends Pick<ObjectRef, 'id' | 'sha256' | 'document'> {
  bytes: number;
}

/** An object that was gone when its turn came, as its document had been replaced and purged. */
interface GoneObject {
  id: string;
  gone: true;
}

/** What a backup knows of an object. */
export type IndexedObject = StoredObject | GoneObject;

/** Returns the objects of a backup by id. Rejects as `readLines` does. */
export async function readIndex(
  target: BackupTarget,
  files: readonly BackupFile[],
): Promise<Map<string, IndexedObject>> {
  const index = new Map<string, IndexedObject>();
  for (const file of files) {
    for (const object of await readLines<IndexedObject>(target, file)) index.set(object.id, object);
  }
  return index;
}

async function writeIndex(
  target: BackupTarget,
  index: ReadonlyMap<string, IndexedObject>,
): Promise<BackupFile[]> {
  const files: BackupFile[] = [];
  await writeLineFiles(
    target,
    () => 'objects',
    index.values(),
    (file) => files.push(file),
  );
  return files;
}

/** Returns the bytes of an object. Rejects with `conflict` when its file is missing. */
export async function readObject(target: BackupTarget, { id }: StoredObject): Promise<Readable> {
  const name = objectName(id);
  try {
    return await target.read(name);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'not_found')
      throw damaged(target, name, 'is missing');
    throw error;
  }
}

/** Returns the objects of an index whose bytes are in the backup. */
export function storedObjects(index: ReadonlyMap<string, IndexedObject>): StoredObject[] {
  return [...index.values()].filter((object): object is StoredObject => !('gone' in object));
}

/** Returns the name of the file with the bytes of an object. */
export function objectName(id: string): string {
  return `objects/${id.slice(-2)}/${id}`;
}

const OBJECTS_AT_ONCE = 8;

export interface ObjectPorts {
  eventLog: EventLog;
  documentStore: DocumentStore;
  target: BackupTarget;
}

interface ObjectsPart {
  files: BackupFile[];
  index: ReadonlyMap<string, IndexedObject>;
  /** Number of objects whose bytes were written, and of these bytes. */
  added: number;
  bytes: number;
  problems: string[];
}

/**
 * Writes the wanted objects that the backup does not contain yet. Those that the document store no longer has are removed from
 * the list, unless it has lost them: the backup may then hold the only copy. `present` are the files of the backup when it began.
 * Rejects with `unavailable`.
 */
export async function backupObjects(
  ports: ObjectPorts,
  files: readonly BackupFile[],
  wanted: readonly ObjectRef[],
  present: ReadonlySet<string>,
): Promise<ObjectsPart> {
  const { documentStore, target } = ports;
  const index = await readIndex(target, files);
  const part: ObjectsPart = { files: [...files], index, added: 0, bytes: 0, problems: [] };
  const isWanted = new Set(wanted.map(({ id }) => id));
  await each([...index.values()], async (object) => {
    const isGone = 'gone' in object;
    if (!isGone && (await documentStore.has(object.id))) return;
    if (!isGone && object.document && (await isLost(ports, object.document)))
      part.problems.push(lostProblem(object));
    else if (isGone || !isWanted.has(object.id)) index.delete(object.id);
  });
  const missing = wanted.filter(({ id }) => !index.has(id));
  await each(missing, async (object) => {
    const { id } = object;
    const found = present.has(objectName(id)) ? await asWritten(target, object) : undefined;
    const copied = found ?? (await copy(ports, object));
    if (copied === undefined) {
      if (object.document && (await isLost(ports, object.document))) part.problems.push(lostProblem(object));
      else index.set(id, { id, gone: true });
      return;
    }
    index.set(id, copied);
    part.added += 1;
    part.bytes += copied.bytes;
    if (copied.sha256 !== object.sha256) part.problems.push(differentProblem(object));
  });
  return { ...part, files: await writeIndex(target, index) };
}

/** Returns an object already written by an interrupted run. */
async function asWritten(target: BackupTarget, object: ObjectRef): Promise<StoredObject | undefined> {
  const { id, sha256 } = object;
  const digest = new Digest();
  for await (const _chunk of digest.of(await target.read(objectName(id))));
  const written = digest.result(object);
  return written.sha256 === sha256 ? written : undefined;
}

/** Copies an object; returns undefined if it is not in the document store. */
async function copy(
  { documentStore, target }: ObjectPorts,
  object: ObjectRef,
): Promise<StoredObject | undefined> {
  const { id } = object;
  const digest = new Digest();
  try {
    await target.write(objectName(id), digest.of(await documentStore.get(id)));
    return digest.result(object);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'not_found') return undefined;
    throw error;
  }
}

/** Whether a document should have its bytes: it was neither replaced nor removed since, as far as that can be read. */
export async function isLost(
  { eventLog }: Pick<ObjectPorts, 'eventLog'>,
  { stream, revision }: NonNullable<ObjectRef['document']>,
): Promise<boolean> {
  try {
    const [last] = await eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
    return last?.revision === revision;
  } catch (error) {
    asUnreadable(error);
    return true;
  }
}

/** What is wrong with a document whose bytes are missing. */
export function lostProblem(object: Pick<ObjectRef, 'id' | 'document'>): string {
  return `${nameOf(object)} are not in the document store.`;
}

/** What is wrong with bytes that have another digest than those that were received. */
export function differentProblem(object: Pick<ObjectRef, 'id' | 'document'>): string {
  return `${nameOf(object)} differ from those that were received.`;
}

function nameOf({ id, document }: Pick<ObjectRef, 'id' | 'document'>): string {
  return document
    ? `The bytes of the document at position ${document.position}`
    : `The bytes of the message ${id}`;
}

/** Computes the size and hash of bytes that pass through. */
export class Digest {
  readonly #hash = createHash('sha256');
  #bytes = 0;

  async *of(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      this.#hash.update(chunk);
      this.#bytes += chunk.length;
      yield chunk;
    }
  }

  /** Must be called once, when all have passed. */
  result({ id, document }: Pick<ObjectRef, 'id' | 'document'>): StoredObject {
    const sha256 = this.#hash.digest('hex');
    return { id, bytes: this.#bytes, sha256, ...(document && { document }) };
  }
}

/** Runs `work` for each item, several at a time, until one fails. */
export async function each<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      await work(items[next++] as Item).catch((error) => {
        next = items.length;
        throw error;
      });
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: OBJECTS_AT_ONCE }, worker));
  for (const end of ended) if (end.status === 'rejected') throw end.reason;
}

const ROWS_AT_ONCE = 500;

/** What a backup contains of the state store. */
interface StatePart extends Pick<Manifest, 'state'> {
  /** The bytes of messages that are not in their rows. */
  messages: ObjectRef[];
}

/** Writes all rows of the tables. Rejects with `unavailable`. */
export async function backupState<Body extends object>(
  stateStore: StateStore,
  target: BackupTarget,
  tables: readonly StateTable<Body>[],
): Promise<StatePart> {
  const part: StatePart = { state: [], messages: [] };
  for (const table of tables) {
    await writeLineFiles(
      target,
      () => `state/${table.name}`,
      rowsOf(stateStore, table),
      (file, rows) => {
        part.state.push({ ...file, table: table.name, rows: rows.length });
        if (table.name === messagesTable.name) part.messages.push(...rows.flatMap(bytesOf));
      },
    );
  }
  return part;
}

export async function* rowsOf<Body extends object>(stateStore: StateStore, table: StateTable<Body>) {
  for (let after: string | undefined; ; ) {
    const rows = await stateStore.scan(table, { after, limit: ROWS_AT_ONCE });
    yield* rows;
    if (rows.length < ROWS_AT_ONCE) return;
    after = rows.at(-1)?.id;
  }
}

/** Returns the object with the bytes of a message, where they are not in its row. */
export function bytesOf({ id, body }: StateRow<object>): ObjectRef[] {
  const { size, sha256, content } = messagesTable.body.parse(body);
  return content === undefined ? [{ id, size, sha256 }] : [];
}
