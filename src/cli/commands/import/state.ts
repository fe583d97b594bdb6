import { createHash, randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import type { FieldMessage } from '../../../platform/errors.ts';
import { changedFiles, ImportDelayed, ImportError, type Row, type SourceRecord } from './source.ts';

const kindCountsSchema = z.object({ accepted: z.int(), rejected: z.int() });

const warningCountSchema = z.object({
  kind: z.string(),
  field: z.string(),
  message: z.string(),
  count: z.int(),
});

/** What an import has counted so far. */
export const tallySchema = z.object({
  accepted: z.int().default(0),
  rejected: z.int().default(0),
  created: z.int().default(0),
  updated: z.int().default(0),
  unchanged: z.int().default(0),
  by_kind: z.record(z.string(), kindCountsSchema).default({}),
  warnings: z.array(warningCountSchema).default([]),
  seconds: z.number().default(0),
});

type TallySnapshot = z.infer<typeof tallySchema>;

/** The result of an import, as in its last line. */
export interface ImportCounts extends Omit<TallySnapshot, 'warnings'> {
  /** Warnings for accepted records, by the service and by the mapping. */
  warnings: number;
}

/** A warning, and how often it occurred. */
type WarningCount = z.infer<typeof warningCountSchema>;

/** The result of one record or document. */
export type SendResult =
  | { accepted: true; outcome: string; warnings: FieldMessage[] }
  | { accepted: false; status: number | null; error: string; details?: unknown };

/** Counts results as they come in. */
export class ImportTally {
  readonly #startedAt = performance.now();
  readonly #counts: Omit<TallySnapshot, 'warnings'>;
  readonly #warnings: Map<string, WarningCount>;

  /** Continues from earlier counts. */
  constructor({ warnings, ...counts }: TallySnapshot) {
    this.#counts = structuredClone(counts);
    this.#warnings = new Map(warnings.map((warning) => [keyOf(warning), { ...warning }]));
  }

  /** Counts a line of the input that contains no record. */
  unreadable(): void {
    this.#counts.rejected++;
  }

  /** Counts the result of a record. */
  add(kind: string, result: SendResult): void {
    const counts = this.#counts;
    counts.by_kind[kind] ??= { accepted: 0, rejected: 0 };
    const side = result.accepted ? 'accepted' : 'rejected';
    counts[side]++;
    counts.by_kind[kind][side]++;
    if (!result.accepted) return;
    const { outcome } = result;
    if (outcome === 'created' || outcome === 'updated' || outcome === 'unchanged') counts[outcome]++;
    for (const warning of result.warnings) this.#warn({ kind, ...warning });
  }

  /** Adds the outcomes of records that were counted without one. */
  addOutcomes({ created, updated, unchanged }: OutcomeCounts): void {
    this.#counts.created += created;
    this.#counts.updated += updated;
    this.#counts.unchanged += unchanged;
  }

  #warn(warning: Omit<WarningCount, 'count'>): void {
    const { kind, field, message } = warning;
    const key = keyOf(warning);
    const counted = this.#warnings.get(key) ?? { kind, field, message, count: 0 };
    counted.count++;
    this.#warnings.set(key, counted);
  }

  /** Returns the warnings, most frequent first. */
  warnings(): WarningCount[] {
    return [...this.#warnings.values()].sort((a, b) => b.count - a.count);
  }

  /** Returns everything counted so far; `seconds` since the beginning, excluding the time between runs. */
  snapshot(): TallySnapshot {
    const seconds = Math.round(performance.now() - this.#startedAt) / 1000 + this.#counts.seconds;
    return { ...this.#counts, warnings: [...this.#warnings.values()], seconds };
  }

  counts(): ImportCounts {
    const { warnings, ...counts } = this.snapshot();
    return { ...counts, warnings: warnings.reduce((sum, { count }) => sum + count, 0) };
  }
}

function keyOf({ kind, field, message }: Omit<WarningCount, 'count'>): string {
  return JSON.stringify([kind, field, message]);
}

/** What an import must have in common with the one that it resumes. */
const identitySchema = z.object({
  /** Digest of the API key: an `Idempotency-Key` is specific to it. */
  key: z.string(),
  /** Everything that determines what is sent, besides the input. */
  options: z.record(z.string(), z.string()),
  input: z.record(z.string(), z.string()),
});

export type ImportIdentity = z.infer<typeof identitySchema>;

const placeSchema = z.object({ path: z.string(), size: z.int() });

const stateSchema = z.object({
  /** Seed of the keys under which this import sends. */
  run: z.string(),
  begun: z.string(),
  identity: identitySchema,
  /** Number of input rows whose results have been processed. */
  rows: z.int(),
  /** The rows of the next chunk that are to be sent (again), by index; all if absent. */
  left: z.array(z.int()).optional(),
  /** How often rows of that chunk were answered and are to be sent again. */
  round: z.int(),
  /** Number of documents that have been answered. */
  documents: z.int(),
  tally: tallySchema,
  rejects: placeSchema,
  warnings: placeSchema,
});

type ImportProgress = z.infer<typeof stateSchema>;

interface StateOptions {
  identity: ImportIdentity;
  /** The reports of a new import. */
  reports: Pick<ImportProgress, 'rejects' | 'warnings'>;
  /** Ignores the contents of the file. */
  isFresh: boolean;
}

const OWNER_ONLY = 0o600;
/** What follows the name of the file in that of a draft. */
const DRAFT = /^\.\d+\.new$/;

/** Returns the default name of the file for an import of this input into this service. */
export function stateFileName(url: URL, paths: readonly string[]): string {
  const digest = createHash('sha256').update(
    JSON.stringify([url.href, ...paths.map((path) => resolve(path))]),
  );
  return `import-${digest.digest('hex').slice(0, 8)}.state.json`;
}

/**
 * The progress of an import, in a file that survives its process and a crash of the machine: each `note` is on disk before it
 * returns. What is sent next depends only on it and on the input.
 */
export class ImportState {
  readonly path: string;
  readonly isResumed: boolean;
  #progress: ImportProgress;
  /** Contents of the file as this process knows them; undefined: there is none. */
  #text: string | undefined;

  private constructor(path: string, progress: ImportProgress, text: string | undefined, isResumed: boolean) {
    this.path = path;
    this.isResumed = isResumed;
    this.#progress = progress;
    this.#text = text;
  }

  /**
   * Opens the state in the file, or that of a new import. Throws `ImportError` when the file belongs to a different import, or
   * cannot be read.
   */
  static open(path: string, { identity, reports, isFresh }: StateOptions): ImportState {
    const text = textOf(path);
    if (text !== undefined && !isFresh) {
      const progress = parse(path, text);
      requireSame(path, progress, identity);
      return new ImportState(path, progress, text, true);
    }
    const run = randomUUID();
    const begun = new Date().toISOString();
    const tally = tallySchema.parse({});
    const progress = { run, begun, identity, rows: 0, round: 0, documents: 0, tally, ...reports };
    return new ImportState(path, progress, text, false);
  }

  /** Whether no result has been processed, by this process or an earlier one. */
  get isUntouched(): boolean {
    const { rows, round, documents } = this.#progress;
    return !this.isResumed && rows + round + documents === 0;
  }

  /** Whether another process can resume it. */
  get isKept(): boolean {
    return existsSync(this.path);
  }

  get progress(): Readonly<ImportProgress> {
    return this.#progress;
  }

  /**
   * Saves the progress of the import. Throws `ImportError` when it cannot, and when another process has: of two that run the same
   * import, one goes on. What both have sent had the same keys, and was written once.
   */
  note(progress: Partial<ImportProgress>): void {
    this.#progress = { ...this.#progress, ...progress };
    const text = `${JSON.stringify(this.#progress)}\n`;
    try {
      if (textOf(this.path) !== this.#text || !writeDurably(this.path, text, this.#text === undefined)) {
        throw new ImportError(`Another process runs the same import: it has written to ${this.path}.`);
      }
      this.#text = text;
    } catch (error) {
      if (error instanceof ImportError) throw error;
      throw new ImportDelayed(
        `The file ${this.path} cannot be written (${(error as { code?: string }).code}).`,
      );
    }
  }

  /** Removes the file, and what a killed process was about to replace it with: the import is over, or has not begun. */
  remove(): void {
    rmSync(this.path, { force: true });
    for (const path of draftsOf(this.path)) rmSync(path, { force: true });
  }
}

/** Returns the contents of a file; undefined when it does not exist. Throws `ImportError` when it cannot be read. */
function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'ENOENT') return undefined;
    throw new ImportError(`The file ${path} cannot be read (${code}).`);
  }
}

function parse(path: string, text: string): ImportProgress {
  try {
    return stateSchema.parse(JSON.parse(text));
  } catch {
    throw new ImportError(`${path} is not a valid state file of an import. Start over with --fresh.`);
  }
}

function requireSame(path: string, { begun, identity }: ImportProgress, now: ImportIdentity): void {
  const changed = changedFiles(identity.input, now.input);
  const options = changedFiles(identity.options, now.options);
  const what =
    changed.length > 0
      ? `${changed.slice(0, 5).join(', ')} changed since then`
      : options.length > 0
        ? `it had other options (${options.join(', ')})`
        : identity.key !== now.key
          ? 'it had another API key'
          : undefined;
  if (what === undefined) return;
  throw new ImportError(
    `The import that was started at ${begun} is not finished (${path}), and ${what}. Nothing was sent. Resume it as it was started, or start over with --fresh.`,
  );
}

/**
 * Writes a file readable by its owner only, durably and as a whole. Returns false when the file is new to this process, and another
 * one has created it. Throws the file system's error.
 */
export function writeDurably(path: string, text: string, isNew: boolean): boolean {
  const temporary = `${path}.${process.pid}.new`;
  const file = openSync(temporary, 'w', OWNER_ONLY);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  if (!isNew) renameSync(temporary, path);
  else if (!movedToNew(temporary, path)) return false;
  const folder = openSync(dirname(path), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
  return true;
}

/** Returns what processes have begun to write, and have not renamed; nothing where the folder cannot be read. */
function draftsOf(path: string): string[] {
  const isDraft = (name: string) =>
    name.startsWith(basename(path)) && DRAFT.test(name.slice(basename(path).length));
  try {
    const names = readdirSync(dirname(path)).filter(isDraft);
    return names.map((name) => join(dirname(path), name));
  } catch {
    return [];
  }
}

/** Moves a file to a path, unless there is one; file systems without links cannot tell. */
function movedToNew(file: string, path: string): boolean {
  try {
    linkSync(file, path);
    rmSync(file);
  } catch (error) {
    const isTaken = (error as { code?: string }).code === 'EEXIST';
    if (isTaken) rmSync(file);
    else renameSync(file, path);
    return !isTaken;
  }
  return true;
}

export const rowResultSchema = z.object({
  line: z.int(),
  status: z.int(),
  outcome: z.string().optional(),
  warnings: z.array(z.object({ field: z.string(), message: z.string() })).default([]),
  error: z.string().default(''),
  code: z.string().optional(),
  details: z.unknown().optional(),
  retryable: z.boolean().default(false),
  retryAfter: z.number().optional(),
});

/** The result of a row, as returned by the service. */
export type RowResult = z.infer<typeof rowResultSchema>;

/** The outcomes of accepted rows. */
export type OutcomeCounts = Record<'created' | 'updated' | 'unchanged', number>;

export interface BatchAnswer {
  /** For each row, in order. */
  results: RowResult[];
  /** Totals for the accepted ones, if the results do not say. */
  counts?: OutcomeCounts;
  /** Whether there was an earlier try with the same key, which may have written rows. */
  isRepeat: boolean;
}

/** How the rows of an import are sent. */
export interface RowSender {
  /** Returns a record as it is sent. */
  lineOf(item: SourceRecord): string;
  /** Returns the result of each row. Rejects as `ImportClient.send` does. */
  send(rows: readonly Row[], idempotencyKey: string): Promise<BatchAnswer>;
}
