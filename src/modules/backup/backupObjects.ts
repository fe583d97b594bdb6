import { createHash } from 'node:crypto';
import { asUnreadable, ServiceError } from '../../platform/errors.ts';
import type { BackupTarget } from '../../storage/backupTarget.ts';
import type { DocumentStore } from '../../storage/documentStore.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { BackupFile } from './manifest.ts';
import { type IndexedObject, objectName, readIndex, type StoredObject, writeIndex } from './objectIndex.ts';
import type { WantedObject } from './WantedObject.ts';

const AT_ONCE = 8;

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
  wanted: readonly WantedObject[],
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
      part.problems.push(`${nameOf(object)} are not in the document store.`);
    else if (isGone || !isWanted.has(object.id)) index.delete(object.id);
  });
  const missing = wanted.filter(({ id }) => !index.has(id));
  await each(missing, async (object) => {
    const { id } = object;
    const found = present.has(objectName(id)) ? await asWritten(target, object) : undefined;
    const copied = found ?? (await copy(ports, object));
    if (copied === undefined) {
      if (object.document && (await isLost(ports, object.document)))
        part.problems.push(`${nameOf(object)} are not in the document store.`);
      else index.set(id, { id, gone: true });
      return;
    }
    index.set(id, copied);
    part.added += 1;
    part.bytes += copied.bytes;
    if (copied.sha256 !== object.sha256)
      part.problems.push(`${nameOf(object)} differ from those that were received.`);
  });
  return { ...part, files: await writeIndex(target, index) };
}

/** Returns an object already written by an interrupted run. */
async function asWritten(target: BackupTarget, object: WantedObject): Promise<StoredObject | undefined> {
  const { id, sha256 } = object;
  const digest = new Digest();
  for await (const _chunk of digest.of(await target.read(objectName(id))));
  const written = digest.result(object);
  return written.sha256 === sha256 ? written : undefined;
}

/** Copies an object; returns undefined if it is not in the document store. */
async function copy(
  { documentStore, target }: ObjectPorts,
  object: WantedObject,
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
async function isLost(
  { eventLog }: ObjectPorts,
  { stream, revision }: NonNullable<WantedObject['document']>,
): Promise<boolean> {
  try {
    const [last] = await eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
    return last?.revision === revision;
  } catch (error) {
    asUnreadable(error);
    return true;
  }
}

function nameOf({ id, document }: Pick<WantedObject, 'id' | 'document'>): string {
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
  result({ id, document }: Pick<WantedObject, 'id' | 'document'>): StoredObject {
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
  const ended = await Promise.allSettled(Array.from({ length: AT_ONCE }, worker));
  for (const end of ended) if (end.status === 'rejected') throw end.reason;
}
