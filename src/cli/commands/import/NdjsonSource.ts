import { basename } from 'node:path';
import { z } from 'zod';
import { catalog } from '../../../domain/records/catalog.ts';
import { type Fingerprint, fingerprintOf } from './fingerprint.ts';
import type { ImportSource, SourceRecord, UnreadableEntry } from './importSource.ts';
import { isUtf8, readLines } from './readLines.ts';

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
