import { basename } from 'node:path';
import { z } from 'zod';
import { catalog, type RecordKind } from '../../records/catalog.ts';
import { ImportError, type ImportSource, type SourceRecord, type UnreadableEntry } from './importSource.ts';
import { readText } from './readText.ts';

/** Far beyond what the service takes as one record; a "line" above it means that the file is no NDJSON. */
const MAX_LINE_LENGTH = 4 * 1024 * 1024;

const kinds = catalog.map(({ kind }) => kind);
const lineSchema = z.object({
  kind: z.enum(kinds as [RecordKind, ...RecordKind[]]),
  record: z.record(z.string(), z.unknown()),
});

/** Lines end with LF or CRLF and nothing else: node:readline would also cut at U+2028, which JSON strings may hold. */
async function* readLines(path: string): AsyncGenerator<string> {
  let rest = '';
  for await (const text of readText(path)) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() as string;
    if (rest.length > MAX_LINE_LENGTH) {
      throw new ImportError(`${basename(path)} has a line longer than 4 MB: it is not NDJSON.`);
    }
    yield* lines;
  }
  yield rest;
}

function parseLine(line: string, source: string): SourceRecord | UnreadableEntry {
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

/** A file of lines `{"kind": "patient", "record": {…}}`, kinds in any order; empty lines are passed over. */
export class NdjsonSource implements ImportSource {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async survey(
    onUnreadable: (entry: UnreadableEntry) => void,
    stop: AbortSignal,
  ): Promise<Map<RecordKind, number>> {
    const counts = new Map<RecordKind, number>();
    for await (const entry of this.#entries()) {
      if (stop.aborted) break;
      if ('error' in entry) onUnreadable(entry);
      else counts.set(entry.kind, (counts.get(entry.kind) ?? 0) + 1);
    }
    return counts;
  }

  async *records(kind: RecordKind): AsyncGenerator<SourceRecord> {
    for await (const entry of this.#entries()) {
      if ('kind' in entry && entry.kind === kind) yield entry;
    }
  }

  async *#entries(): AsyncGenerator<SourceRecord | UnreadableEntry> {
    let number = 0;
    for await (const line of readLines(this.#path)) {
      number++;
      if (line.trim() !== '') yield parseLine(line, `${basename(this.#path)}:${number}`);
    }
  }
}
