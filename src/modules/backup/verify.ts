import { ServiceError } from '../../platform/errors.ts';
import type { CopiedPlace } from '../../storage/eventLog.ts';
import type { BackupTarget } from '../../storage/targets.ts';
import type { PublicKeys } from '../integrity/publicKeys.ts';
import {
  Digest,
  each,
  type IndexedObject,
  LogCheck,
  type OnProgress,
  objectName,
  readIndex,
  readObject,
  type StoredObject,
  storedObjects,
} from './contents.ts';
import { damaged, type Manifest, readFile, readLines, requireManifest } from './format.ts';

/** A backup that was checked. */
interface VerifiedBackup {
  manifest: Manifest;
  /** Of documents and messages. */
  objects: number;
  /** What is wrong, and where; empty: everything is sound. */
  problems: string[];
}

/**
 * Checks a backup: the signature of its manifest, the digests of all files, that the events are those over which the hash trees
 * were computed, and that no document lacks its bytes. Rejects as `requireManifest` does, and with `unavailable`.
 */
export async function verifyBackup(
  target: BackupTarget,
  publicKeys: PublicKeys,
  onProgress: OnProgress = () => undefined,
): Promise<VerifiedBackup> {
  const manifest = await requireManifest(target, publicKeys);
  const problems: string[] = [];
  const noted = <Result>(work: Promise<Result>) => work.catch((error) => note(error, problems));
  const log = new LogCheck();
  for (const segment of manifest.segments) {
    const places = await noted(readLines<CopiedPlace>(target, segment));
    log.add(segment, places);
    onProgress(segment.last, manifest.last_position, log.events);
  }
  problems.push(...log.problems(manifest));
  for (const file of [...manifest.state, manifest.keys]) await noted(readFile(target, file));
  const index = await noted(readIndex(target, manifest.objects));
  if (index === undefined) return { manifest, objects: 0, problems };
  const stored = storedObjects(index);
  await each(stored, async (object) => {
    await noted(checkObject(target, object));
  });
  problems.push(...missingDocuments(log, index));
  return { manifest, objects: stored.length, problems };
}

/** Rejects when the bytes of an object are missing or different. */
async function checkObject(target: BackupTarget, object: StoredObject): Promise<void> {
  const { id, sha256 } = object;
  const digest = new Digest();
  for await (const _chunk of digest.of(await readObject(target, object)));
  if (digest.result(object).sha256 !== sha256) throw damaged(target, objectName(id), 'was changed');
}

function missingDocuments(log: LogCheck, index: ReadonlyMap<string, IndexedObject>): string[] {
  return [...log.documents.values()]
    .filter(({ objectId }) => !index.has(objectId))
    .map(({ position }) => `The bytes of the document at position ${position} are not in the backup.`);
}

/** Records what is wrong; rethrows errors that do not concern the backup. */
function note(error: unknown, problems: string[]): undefined {
  if (!(error instanceof ServiceError) || error.code !== 'conflict') throw error;
  problems.push(error.message);
}
