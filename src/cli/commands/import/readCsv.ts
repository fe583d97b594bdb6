import { basename } from 'node:path';
import { CsvError } from 'csv-parse';
import { parse } from 'csv-parse/sync';
import { ImportError } from './importSource.ts';
import { isUtf8, type Line, readLines } from './readLines.ts';

/** A row of a CSV file, or why there is none; `line` is the one on which it begins, the header's being 1. */
export type CsvEntry = { line: number; cells: string[] } | { line: number; error: string };

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
    yield* takeRows(waiting, false);
  }
  yield* takeRows(waiting, true);
}

/** Removes the complete rows from the waiting lines; at the end of the file, all of them. */
function* takeRows(waiting: Line[], atEnd: boolean): Generator<CsvEntry> {
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
