import { access, type FileHandle, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { canonicalJson } from '../../domain/events/canonicalJson.ts';
import type { ErasedEvent, Position } from '../../domain/events/event.ts';
import type { Hash, HashedEvent, HashTree } from '../../domain/merkle.ts';
import { ServiceError } from '../../platform/errors.ts';
import { digestFields, digestOf, type FileDigest, manifestFields, manifestPath } from './manifest.ts';
import { type LastEvent, type SigningKey, signObject, signTreeHead } from './publicKeys.ts';

export type ExportFormat = 'ndjson' | 'csv';

/** A line of an NDJSON export: the whole event, and its place in the workspace's hash tree. */
export interface ExportedEvent extends HashedEvent {
  position: Position;
  /** Index of the leaf in the tree: 0 is the first event of the workspace. */
  index: number;
  leaf: Hash;
}

/** A line for an erased event: a later tombstone names it. */
export interface ErasedLine extends Omit<ErasedEvent, 'leaf'> {
  index: number;
  leaf: Hash;
  erased: true;
}

/** What to export. */
export interface ExportJob {
  workspace: string;
  filters: ExportFilters;
  format: ExportFormat;
}

/** An event that was written, as far as the manifest needs it. */
interface WrittenEvent {
  position: Position;
  recordedAt: string;
}

/** The progress of an export; as JSON, all that is needed to resume. */
export interface ExportProgress {
  /** All events up to and including this position are done. */
  position: Position;
  /** Where the export ends: with its entry in the audit trail. */
  until: Position;
  /** Of all events read of the workspace. */
  tree: HashTree;
  lastEvent: LastEvent | null;
  /** Number of events and bytes written. */
  events: number;
  bytes: number;
  first: WrittenEvent | null;
  last: WrittenEvent | null;
}

/** The destination of an export. */
export interface ExportSink {
  write(text: string): Promise<void>;
  /** Called after each batch; `progress` covers exactly what was written. */
  reached(progress: Readonly<ExportProgress>): Promise<void>;
}

/** The filters of an export. */
const filtersSchema = z.strictObject({
  /** Only events recorded at or after this; ISO 8601, UTC. */
  from: z.string().nullable(),
  /** Only events recorded before this; ISO 8601, UTC. */
  to: z.string().nullable(),
  kind: z.string().nullable(),
});

/** Describes an export: kept in a file beside it, and verifiable with the public key alone. */
export const manifestSchema = z.strictObject({
  type: z.literal('chartledger.export_manifest.v1'),
  filters: filtersSchema,
  format: z.enum(['ndjson', 'csv']),
  /** Number of events in the file. */
  events: z.int().min(0),
  first_position: z.int().nullable(),
  last_position: z.int().nullable(),
  first_recorded_at: z.string().nullable(),
  last_recorded_at: z.string().nullable(),
  ...digestFields,
  ...manifestFields,
});

export type ExportFilters = z.infer<typeof filtersSchema>;
export type ExportManifest = z.infer<typeof manifestSchema>;

/** Creates and signs the manifest of a complete export. */
export function signManifest(
  job: ExportJob,
  { tree, lastEvent, events, first, last }: ExportProgress,
  digest: FileDigest,
  signingKey: SigningKey,
): ExportManifest {
  return signObject(
    {
      type: 'chartledger.export_manifest.v1' as const,
      ...job,
      events,
      first_position: first?.position ?? null,
      last_position: last?.position ?? null,
      first_recorded_at: first?.recordedAt ?? null,
      last_recorded_at: last?.recordedAt ?? null,
      bytes: digest.bytes,
      sha256: digest.sha256,
      tree_head: signTreeHead(job.workspace, tree, lastEvent, signingKey),
      created_at: new Date().toISOString(),
    },
    signingKey,
  );
}

/** Whether an export holds every event of its workspace. */
export function isComplete(filters: ExportFilters): boolean {
  return !isLimitedByTime(filters) && filters.kind === null;
}

export function isLimitedByTime({ from, to }: ExportFilters): boolean {
  return from !== null || to !== null;
}

const CHECKPOINT_MS = 250;
const OWNER_ONLY = 0o600;

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
    await writeWhole(manifestPath(this.path), describe(await digestOf(partPath(this.path))));
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
