import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { basename, extname, join, relative, sep } from 'node:path';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { CsvError } from 'csv-parse';
import { parse } from 'csv-parse/sync';
import { z } from 'zod';
import { catalog } from '../../../domain/records/catalog.ts';
import {
  type DocumentCategory,
  documentFieldsSchema,
  documentFormats,
} from '../../../domain/records/document.ts';
import type { FieldMessage } from '../../../platform/errors.ts';
import { CommandError } from '../../lib/terminal.ts';

/** A record that an import is to send. */
export interface SourceRecord {
  kind: string;
  /** Where it was read: `encounters.csv:12`, by line. */
  source: string;
  record: Record<string, unknown>;
  /** What the source had to guess. */
  warnings?: FieldMessage[];
}

/** A place in the input that contains no record. */
export interface UnreadableEntry {
  source: string;
  /** What is wrong with it, without any of its content. */
  error: string;
}

/** The input of an import. It is read as a stream, once for each kind, and yields the same each time. */
export interface ImportSource {
  /** The kinds that it may contain, in the order in which they refer to each other. */
  readonly kinds: readonly string[];

  /** Lets a resumed import detect whether the input is still the same. Rejects with `ImportError`. */
  fingerprint(): Promise<Fingerprint>;

  /**
   * Reads everything once: returns the number of records of each kind, and reports anything else to `onUnreadable`. Ends early
   * when `stop` is aborted. Rejects with `ImportError` when the input as a whole cannot be read.
   */
  survey(onUnreadable: (entry: UnreadableEntry) => void, stop: AbortSignal): Promise<Map<string, number>>;

  /** Yields the records of one kind, in the order of the input. */
  records(kind: string): AsyncIterable<SourceRecord>;
}

/** Ends an import early; the message says what to do about it. */
export class ImportError extends CommandError {}

/** Something was in the way that may be gone later: the service was unavailable, or a disk full. */
export class ImportDelayed extends ImportError {}

/** The service accepts nothing at all: not with this key, or not at this address. */
export class NothingAccepted extends ImportError {}

/** Texts by file name; a file that changes gets a different one. */
export type Fingerprint = Record<string, string>;

const FIRST_BYTES = 64 * 1024;

/** Returns the size, the time of the last change and the digest of the first bytes of each file. Rejects with `ImportError`. */
export async function fingerprintOf(paths: readonly string[]): Promise<Fingerprint> {
  const fingerprint: Fingerprint = {};
  for (const path of paths) fingerprint[basename(path)] = await ofFile(path);
  return fingerprint;
}

async function ofFile(path: string): Promise<string> {
  try {
    await using file = await open(path);
    const { size, mtimeMs } = await file.stat();
    const { buffer, bytesRead } = await file.read(Buffer.alloc(FIRST_BYTES), 0, FIRST_BYTES, 0);
    const digest = createHash('sha256').update(buffer.subarray(0, bytesRead)).digest('hex');
    return `${size} ${mtimeMs} ${digest}`;
  } catch (error) {
    throw new ImportError(
      `${path} cannot be read (${(error as { code?: string }).code ?? 'unknown reason'}).`,
    );
  }
}

/** Returns the files that have changed. */
export function changedFiles(before: Fingerprint, now: Fingerprint): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...names].filter((name) => before[name] !== now[name]);
}

/** Far more than the service accepts as one record; a longer "line" means that the file is something else. */
const MAX_LINE_LENGTH = 4 * 1024 * 1024;
const MEBIBYTE = 1024 * 1024;

interface Line {
  /** From 1. */
  number: number;
  /** Without its LF; the CR of a CRLF is kept. */
  text: string;
}

/**
 * Yields the lines of a text file, which may be compressed (`.gz`), without its byte order mark; bytes that are not UTF-8 become
 * U+FFFD (see `isUtf8`). Lines end with LF only: node:readline would also split at U+2028, which JSON strings may contain.
 * Rejects with `ImportError` when the file cannot be read or has no lines.
 */
export async function* readLines(path: string, maxLength = MAX_LINE_LENGTH): AsyncGenerator<Line> {
  let rest = '';
  let number = 0;
  for await (const text of readText(path)) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() as string;
    if (rest.length > maxLength) {
      const most = `${maxLength / MEBIBYTE} MB`;
      throw new ImportError(
        `${basename(path)} has a line longer than ${most}: it is neither CSV nor NDJSON.`,
      );
    }
    for (const line of lines) yield { number: ++number, text: line };
  }
  if (rest !== '') yield { number: ++number, text: rest };
}

/**
 * Whether a text read here was UTF-8. Guessing at names in another encoding would corrupt them, and one that contains U+FFFD was
 * already corrupted.
 */
export function isUtf8(text: string): boolean {
  return !text.includes('\uFFFD');
}

function openBytes(path: string): Readable {
  const file = createReadStream(path);
  // The reader receives any errors.
  return path.endsWith('.gz') ? pipeline(file, createGunzip(), () => undefined) : file;
}

async function* readText(path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8');
  try {
    for await (const chunk of openBytes(path)) yield decoder.decode(chunk, { stream: true });
  } catch (error) {
    const { code } = error as { code?: string };
    throw new ImportError(`${path} cannot be read (${code ?? 'unknown reason'}).`);
  }
  yield decoder.decode();
}

const kinds = catalog.map(({ kind }) => kind);
const lineSchema = z.object({
  kind: z.enum(kinds),
  record: z.record(z.string(), z.unknown()),
});

function parseLine(line: string, source: string): SourceRecord | UnreadableEntry {
  if (!isUtf8(line)) return { source, error: 'The line is not UTF-8 text. Convert the file to UTF-8.' };
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return { source, error: 'The line is not JSON.' };
  }
  const result = lineSchema.safeParse(value);
  if (result.success) return { source, ...result.data };
  return { source, error: `The line is not {"kind": …, "record": {…}} with a kind of ${kinds.join(', ')}.` };
}

/** A file of lines `{"kind": "patient", "record": {…}}`, kinds in any order; empty lines are skipped. */
export class NdjsonSource implements ImportSource {
  readonly kinds: readonly string[] = kinds;
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  fingerprint(): Promise<Fingerprint> {
    return fingerprintOf([this.#path]);
  }

  async survey(
    onUnreadable: (entry: UnreadableEntry) => void,
    stop: AbortSignal,
  ): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for await (const entry of this.#entries()) {
      if (stop.aborted) break;
      if ('error' in entry) onUnreadable(entry);
      else counts.set(entry.kind, (counts.get(entry.kind) ?? 0) + 1);
    }
    return counts;
  }

  async *records(kind: string): AsyncGenerator<SourceRecord> {
    for await (const entry of this.#entries()) {
      if ('kind' in entry && entry.kind === kind) yield entry;
    }
  }

  async *#entries(): AsyncGenerator<SourceRecord | UnreadableEntry> {
    for await (const { number, text } of readLines(this.#path)) {
      if (text.trim() !== '') yield parseLine(text, `${basename(this.#path)}:${number}`);
    }
  }
}

/** A record to be sent. */
export interface Row {
  item: SourceRecord;
  /** Its line, as sent. */
  line: string;
}

const MOST_ROWS = 1_000;
/** In UTF-16 code units; a single row may be longer. */
const MOST_TEXT = 4 * 1024 * 1024;

/**
 * Yields all records of a source after the first `skipped` ones, in chunks that are sent together. Kinds come in the order of the
 * source's `kinds`, records of a kind in the order of the source; so the same input is always divided in the same way.
 */
export async function* chunks(
  source: ImportSource,
  totals: ReadonlyMap<string, number>,
  skipped: number,
  lineOf: (item: SourceRecord) => string,
): AsyncGenerator<Row[]> {
  let rows: Row[] = [];
  let size = 0;
  for await (const item of recordsOf(source, totals, skipped)) {
    const line = lineOf(item);
    if (rows.length === MOST_ROWS || (rows.length > 0 && size + line.length > MOST_TEXT)) {
      yield rows;
      rows = [];
      size = 0;
    }
    rows.push({ item, line });
    size += line.length;
  }
  if (rows.length > 0) yield rows;
}

async function* recordsOf(
  source: ImportSource,
  totals: ReadonlyMap<string, number>,
  skipped: number,
): AsyncGenerator<SourceRecord> {
  let toSkip = skipped;
  for (const kind of source.kinds) {
    const total = totals.get(kind) ?? 0;
    if (toSkip >= total) {
      toSkip -= total;
      continue;
    }
    for await (const record of source.records(kind)) {
      if (toSkip > 0) toSkip--;
      else yield record;
    }
  }
}

/** Yields the same values; while one is being processed, the next is prepared. */
export async function* oneAhead<Value>(values: AsyncGenerator<Value>): AsyncGenerator<Value> {
  const ahead = () => {
    const next = values.next();
    // It is awaited later, if at all.
    next.catch(() => undefined);
    return next;
  };
  let next = ahead();
  try {
    for (;;) {
      const { done, value } = await next;
      if (done) return;
      next = ahead();
      yield value;
    }
  } finally {
    await values.return(undefined);
  }
}

/** A document that an import is to send. */
export interface DocumentFile {
  path: string;
  /** Its path in the folder, for reports. */
  source: string;
  encounterId: string;
  documentId: string;
  category: DocumentCategory;
}

const categories = documentFieldsSchema.shape.category;

/**
 * A folder of documents identified by their paths: `ENCOUNTER/DOCUMENT.pdf`, or `ENCOUNTER/CATEGORY/DOCUMENT.pdf`. Ids are
 * percent-decoded, as file names cannot contain every character. Hidden files are skipped.
 */
export class DocumentFolder {
  readonly #folder: string;
  readonly #category: DocumentCategory;

  /** `category` applies to documents whose path does not name one. */
  constructor(folder: string, category: DocumentCategory) {
    this.#folder = folder;
    this.#category = category;
  }

  /**
   * Returns all documents, in a stable order; `onUnreadable` is called for anything else, also for a file that would replace
   * another one. Rejects with `ImportError`.
   */
  async list(onUnreadable: (entry: UnreadableEntry) => void): Promise<DocumentFile[]> {
    const documents = new Map<string, DocumentFile>();
    for (const path of await this.#files()) {
      const source = relative(this.#folder, path).replaceAll(sep, '/');
      const read = this.#read(source);
      if (typeof read === 'string') {
        onUnreadable({ source, error: read });
        continue;
      }
      const ids = JSON.stringify([read.encounterId, read.documentId]);
      const other = documents.get(ids);
      if (other === undefined) documents.set(ids, { path, source, ...read });
      else onUnreadable({ source, error: `Its encounter and document id are those of ${other.source}.` });
    }
    return [...documents.values()];
  }

  /** Rejects with `ImportError`. */
  async fingerprint(): Promise<Fingerprint> {
    const digest = createHash('sha256');
    for (const path of await this.#files()) {
      const { size, mtimeMs } = await stat(path).catch((error: unknown) => this.#unreadable(error));
      digest.update(JSON.stringify([relative(this.#folder, path), size, mtimeMs]));
    }
    return { [this.#folder]: digest.digest('hex') };
  }

  async #files(): Promise<string[]> {
    const entries = await readdir(this.#folder, { recursive: true, withFileTypes: true }).catch(
      (error: unknown) => this.#unreadable(error),
    );
    const files = entries.filter((entry) => !entry.isDirectory() && !entry.name.startsWith('.'));
    return files.map(({ parentPath, name }) => join(parentPath, name)).sort();
  }

  #unreadable(error: unknown): never {
    const { code } = error as { code?: string };
    throw new ImportError(`${this.#folder} is not a readable folder of documents (${code}).`);
  }

  /** Parses a path, or returns what is wrong with it. */
  #read(source: string): Omit<DocumentFile, 'path' | 'source'> | string {
    const parts = source.split('/');
    const extension = extname(source);
    if (
      parts.length < 2 ||
      parts.length > 3 ||
      !Object.hasOwn(documentFormats, extension.slice(1).toLowerCase())
    ) {
      return 'The path is not ENCOUNTER/DOCUMENT or ENCOUNTER/CATEGORY/DOCUMENT, with .pdf or .docx.';
    }
    const category = categories.safeParse(parts.length === 3 ? parts[1] : this.#category);
    if (!category.success) return `The middle folder is not one of ${categories.options.join(', ')}.`;
    const [encounterId = '', documentId = ''] = [parts[0], parts.at(-1)?.slice(0, -extension.length)].map(
      decoded,
    );
    if (encounterId === '' || documentId === '') return 'A name in the path is not percent-encoded text.';
    return { encounterId, documentId, category: category.data };
  }
}

function decoded(name = ''): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return '';
  }
}

/** A row of a CSV file, or why there is none; `line` is the one on which it begins, the header's being 1. */
type CsvEntry = { line: number; cells: string[] } | { line: number; error: string };

/** An unclosed quote would swallow everything after it; no real cell has this many lines. */
const MOST_LINES_OF_A_ROW = 100;

/**
 * Yields the rows of a CSV file (RFC 4180) below its header, each with as many cells as that; empty lines are skipped. A row that
 * cannot be read affects no other: reading continues with the line after its first one.
 */
export async function* readCsv(path: string): AsyncGenerator<CsvEntry> {
  let columns: number | undefined;
  for await (const entry of entriesOf(path)) {
    if (columns === undefined && 'cells' in entry) columns = entry.cells.length;
    else if ('cells' in entry && entry.cells.length !== columns) {
      yield {
        line: entry.line,
        error: `The row has ${entry.cells.length} cells, but the header has ${columns}.`,
      };
    } else yield entry;
  }
}

/** Returns the cells of the first row. Rejects with `ImportError` when there is none that can be read. */
export async function readCsvHeader(path: string): Promise<string[]> {
  for await (const entry of entriesOf(path)) {
    if ('cells' in entry) return entry.cells;
    throw new ImportError(`The header of ${basename(path)} cannot be read. ${entry.error}`);
  }
  throw new ImportError(`${basename(path)} is empty: it has no header.`);
}

async function* entriesOf(path: string): AsyncGenerator<CsvEntry> {
  const waiting: Line[] = [];
  for await (const line of readLines(path)) {
    if (waiting.length === 0 && line.text.trim() === '') continue;
    waiting.push(line);
    yield* shiftRows(waiting, false);
  }
  yield* shiftRows(waiting, true);
}

/** Removes the complete rows from the waiting lines; at the end of the file, all of them. */
function* shiftRows(waiting: Line[], atEnd: boolean): Generator<CsvEntry> {
  for (let first = waiting[0]; first; first = waiting[0]) {
    const length = lengthOfRow(waiting);
    if (length === undefined && !atEnd && waiting.length < MOST_LINES_OF_A_ROW) return;
    const text = waiting.slice(0, length).map((line) => line.text);
    const row = length === undefined ? { error: 'a quote is not closed' } : parseRow(text.join('\n'));
    waiting.splice(0, 'cells' in row ? length : 1);
    if ('error' in row) yield { line: first.number, error: `The row is not well-formed CSV: ${row.error}.` };
    else if (row.cells.every(isUtf8)) yield { line: first.number, cells: row.cells };
    else yield { line: first.number, error: 'The row is not UTF-8 text. Convert the file to UTF-8.' };
  }
}

/** Returns how many lines form the first row: as many as it takes to close every quote. */
function lengthOfRow(lines: Line[]): number | undefined {
  let quotes = 0;
  for (const [index, { text }] of lines.entries()) {
    quotes += text.split('"').length - 1;
    if (quotes % 2 === 0) return index + 1;
  }
  return undefined;
}

function parseRow(text: string): { cells: string[] } | { error: string } {
  const row = text.replace(/\r$/, '');
  // Setting up the parser takes a hundred times as long as splitting most rows.
  if (!row.includes('"')) return { cells: row.split(',') };
  try {
    const [cells = []] = parse(row);
    return { cells };
  } catch (error) {
    return { error: error instanceof CsvError ? error.code : 'unknown reason' };
  }
}
