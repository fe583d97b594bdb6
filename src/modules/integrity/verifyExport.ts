import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { CsvError, parse } from 'csv-parse';
import { MAX_EVENT_BYTES, parseJson } from '../../domain/events/event.ts';
import { addLeaf, emptyTree, eventLeaf, treeRoot } from '../../domain/merkle.ts';
import {
  type ErasedLine,
  type ExportedEvent,
  type ExportManifest,
  isComplete,
  manifestSchema,
} from './exportArchive.ts';
import { FILE_DIFFERS, manifestPath, signaturesProblem } from './manifest.ts';
import type { PublicKeys } from './publicKeys.ts';
import { ErasureCheck } from './verify.ts';

/** No event is nearly as long, so no more of a file is kept in memory. */
const MAX_LINE_BYTES = 4 * MAX_EVENT_BYTES;

/** The result of checking an export. */
interface ExportCheck {
  manifest?: ExportManifest;
  /** What is wrong, in one sentence without any of the data; undefined: nothing. */
  problem?: string;
}

/** What one pass through a file found. */
interface FileReading {
  bytes: number;
  sha256: string;
  events: number;
  problem?: string | undefined;
}

/**
 * Checks an export against its manifest, using public keys alone: the signatures, the file's hash, its number of events, each
 * line of NDJSON, and for a complete NDJSON export the tree's root. Rejects with the file system's error when a file cannot be
 * read.
 */
export async function verifyExport(path: string, publicKeys: PublicKeys): Promise<ExportCheck> {
  const parsed = manifestSchema.safeParse(parseJson(await readFile(manifestPath(path), 'utf8')));
  if (!parsed.success) return { problem: `${manifestPath(path)} is not the manifest of an export.` };
  const manifest = parsed.data;
  const problem = signaturesProblem(manifest, publicKeys) ?? (await fileProblem(path, manifest));
  return problem === undefined ? { manifest } : { manifest, problem };
}

async function fileProblem(path: string, manifest: ExportManifest): Promise<string | undefined> {
  const reading = manifest.format === 'csv' ? await readCsv(path) : await readNdjson(path, manifest);
  if (reading.events !== manifest.events && reading.problem === undefined) {
    return `The file contains ${reading.events} events, but the manifest says ${manifest.events}.`;
  }
  if (reading.problem) return reading.problem;
  if (reading.sha256 === manifest.sha256 && reading.bytes === manifest.bytes) return undefined;
  return FILE_DIFFERS;
}

/** Counts records, which may span several lines. */
async function readCsv(path: string): Promise<FileReading> {
  const hash = createHash('sha256');
  let bytes = 0;
  let records = 0;
  const file = createReadStream(path);
  file.on('data', (chunk) => {
    hash.update(chunk);
    bytes += chunk.length;
  });
  const parser = file.pipe(parse({ relax_column_count: true, relax_quotes: true }));
  file.on('error', (error) => parser.destroy(error));
  try {
    for await (const _ of parser) records += 1;
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return { bytes, sha256: '', events: 0, problem: 'The file is not CSV.' };
  }
  return { bytes, sha256: hash.digest('hex'), events: Math.max(0, records - 1) };
}

async function readNdjson(path: string, manifest: ExportManifest): Promise<FileReading> {
  const lines = new LineCheck(manifest);
  const hash = createHash('sha256');
  let bytes = 0;
  let rest = Buffer.alloc(0);
  for await (const chunk of createReadStream(path)) {
    hash.update(chunk);
    bytes += chunk.length;
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let start = 0;
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10, start)) {
      lines.check(rest.toString('utf8', start, end));
      start = end + 1;
    }
    rest = rest.subarray(start);
    if (rest.length > MAX_LINE_BYTES) {
      lines.check('');
      rest = Buffer.alloc(0);
    }
  }
  if (rest.length > 0) lines.check(rest.toString());
  return { bytes, sha256: hash.digest('hex'), events: lines.count, problem: lines.problem() };
}

/** Takes the lines of an NDJSON export one by one, and remembers the first invalid one. */
class LineCheck {
  count = 0;
  readonly #manifest: ExportManifest;
  readonly #isComplete: boolean;
  #tree = emptyTree;
  #index = -1;
  readonly #erasures = new ErasureCheck();
  #broken: string | undefined;

  constructor(manifest: ExportManifest) {
    this.#manifest = manifest;
    this.#isComplete = isComplete(manifest.filters);
  }

  check(line: string): void {
    this.count += 1;
    if (this.#broken) return;
    const problem = this.#lineProblem(line);
    if (problem) this.#broken = `Line ${this.count} ${problem}.`;
  }

  /** Returns what is wrong with the lines, after the last of them. */
  problem(): string | undefined {
    if (this.#broken) return this.#broken;
    const { events, tree_head } = this.#manifest;
    if (!this.#isComplete || this.count !== events) return undefined;
    const { unnamed } = this.#erasures;
    if (unnamed)
      return `The event at position ${unnamed.position} is missing: no tombstone says that it was erased.`;
    if (treeRoot(this.#tree) === tree_head.root && this.#tree.chain === tree_head.chain) return undefined;
    return 'The lines are consistent with each other, but not with the signed tree head: their root differs.';
  }

  #lineProblem(line: string): string | undefined {
    try {
      return this.#check(parseJson(line) as ExportedEvent | ErasedLine | undefined);
    } catch {
      // What has the members of an event, but not their types.
      return 'is not an event as it is exported';
    }
  }

  #check(event: ExportedEvent | ErasedLine | undefined): string | undefined {
    if (typeof event !== 'object' || event === null) return 'is not an event in JSON';
    const { index, leaf } = event;
    const isNext = this.#isComplete ? index === this.#index + 1 : index > this.#index;
    if (!isNext) return `is not the next event: lines before it were removed, added or moved`;
    this.#index = index;
    if (!('erased' in event) && eventLeaf(event) !== leaf) {
      return 'was changed: the event does not have the hash that the line states';
    }
    this.#erasures.check(event);
    if (this.#isComplete) this.#tree = addLeaf(this.#tree, leaf);
    return undefined;
  }
}
