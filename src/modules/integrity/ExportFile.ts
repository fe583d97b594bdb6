import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, type FileHandle, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { canonicalJson } from '../../domain/events/canonicalJson.ts';
import { ServiceError } from '../../platform/errors.ts';

import {
  type ExportJob,
  type ExportManifest,
  type ExportProgress,
  type ExportSink,
  manifestPath,
} from './manifest.ts';

const CHECKPOINT_MS = 250;
const OWNER_ONLY = 0o600;

/** Size and SHA-256 (lower-case hex) of a file. */
export interface FileDigest {
  bytes: number;
  sha256: string;
}

interface Checkpoint {
  job: ExportJob;
  progress: ExportProgress;
}

/**
 * The file of an export: `{path}.part` until complete, with a checkpoint beside it from which the same export can resume.
 * Accessible only to its owner: it contains PHI.
 */
export class ExportFile implements ExportSink {
  readonly path: string;
  /** The progress of an earlier run of the same export; undefined when there was none. */
  readonly resumed: ExportProgress | undefined;
  readonly #job: ExportJob;
  readonly #part: FileHandle;
  /** Size that the file has if nobody else writes to it. */
  #bytes: number;
  #nextCheckpoint = 0;

  private constructor(path: string, job: ExportJob, part: FileHandle, resumed: ExportProgress | undefined) {
    this.path = path;
    this.#job = job;
    this.#part = part;
    this.resumed = resumed;
    this.#bytes = resumed?.bytes ?? 0;
  }

  /**
   * Starts a file, or resumes that of an interrupted run. Rejects with `conflict` when the file exists, or a partial file of
   * another export; `force` replaces it.
   */
  static async open(path: string, job: ExportJob, force: boolean): Promise<ExportFile> {
    if (!force && (await exists(path))) {
      throw new ServiceError('conflict', `${path} already exists. To replace it, use --force.`);
    }
    const checkpoint = await readCheckpoint(path);
    const isSame = checkpoint !== undefined && canonicalJson(checkpoint.job) === canonicalJson(job);
    if (checkpoint && !isSame && !force) {
      throw new ServiceError(
        'conflict',
        `${partPath(path)} belongs to another, unfinished export. To discard it, use --force.`,
      );
    }
    const part = await open(partPath(path), 'a', OWNER_ONLY);
    const { size } = await part.stat();
    const resumed = isSame && size >= checkpoint.progress.bytes ? checkpoint.progress : undefined;
    // Anything written after the checkpoint is written again.
    await part.truncate(resumed?.bytes ?? 0);
    return new ExportFile(path, job, part, resumed);
  }

  async write(text: string): Promise<void> {
    await this.#part.appendFile(text);
    this.#bytes += Buffer.byteLength(text);
  }

  /**
   * Saves the progress every quarter of a second, once the data written is on disk. Rejects with `conflict` when another process
   * has written to the file.
   */
  async reached(progress: Readonly<ExportProgress>): Promise<void> {
    if (performance.now() < this.#nextCheckpoint) return;
    await this.#part.datasync();
    await this.#requireOwn();
    const checkpoint: Checkpoint = { job: this.#job, progress };
    await writeWhole(checkpointPath(this.path), checkpoint);
    this.#nextCheckpoint = performance.now() + CHECKPOINT_MS;
  }

  /** Gives the file its final name, durably, together with the manifest that `describe` returns. Rejects as `reached`. */
  async finish(describe: (digest: FileDigest) => ExportManifest): Promise<void> {
    await this.#part.sync();
    await this.#requireOwn();
    await writeWhole(manifestPath(this.path), describe(await digest(partPath(this.path))));
    await rename(partPath(this.path), this.path);
    const folder = await open(dirname(this.path));
    await folder.sync();
    await folder.close();
    await rm(checkpointPath(this.path), { force: true });
  }

  async close(): Promise<void> {
    await this.#part.close();
  }

  /** A second process that exports to the same file writes the same again. What both have written is never resumed. */
  async #requireOwn(): Promise<void> {
    const { size } = await this.#part.stat();
    if (size === this.#bytes) return;
    await rm(checkpointPath(this.path), { force: true });
    const problem = `${partPath(this.path)} is also being written by another process.`;
    throw new ServiceError('conflict', `${problem} Run the export once, when no other one is running.`);
  }
}

/** Returns the size and hash of a file on disk. */
async function digest(path: string): Promise<FileDigest> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of createReadStream(path)) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256: hash.digest('hex') };
}

function partPath(path: string): string {
  return `${path}.part`;
}

function checkpointPath(path: string): string {
  return `${path}.part.checkpoint`;
}

/** An unreadable checkpoint counts as none: a crash may leave it empty. */
async function readCheckpoint(path: string): Promise<Checkpoint | undefined> {
  try {
    return JSON.parse(await readFile(checkpointPath(path), 'utf8'));
  } catch {
    return undefined;
  }
}

/** Writes a JSON file atomically. If that fails, nothing is left: it may contain PHI. */
export async function writeWhole(path: string, value: unknown): Promise<void> {
  const draft = `${path}.draft`;
  const file = await open(draft, 'w', OWNER_ONLY);
  try {
    await file.writeFile(`${JSON.stringify(value, undefined, 2)}\n`);
    await file.sync();
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
