import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { catalog } from '../../../domain/records/catalog.ts';
import type { FieldMessage } from '../../../platform/errors.ts';
import { type Fingerprint, fingerprintOf } from './fingerprint.ts';
import { ImportError, type ImportSource, type SourceRecord, type UnreadableEntry } from './importSource.ts';
import type { Cells } from './Rule.ts';
import { readCsvHeader } from './readCsv.ts';
import { readMappedRows, unmadeColumns } from './readMappedRows.ts';
import type { FileMapping, Join, Mapping } from './readMapping.ts';

const noCells: Cells = () => '';

/**
 * CSV files, a folder of them or a single one, read with a mapping. Missing files are skipped, as long as there is one with
 * records. Only rows that others join are held in memory, one for each key.
 */
export class MappedSource implements ImportSource {
  readonly kinds: readonly string[] = catalog.map(({ kind }) => kind);
  readonly mapping: Mapping;
  /** Paths of the existing files, by their names in the mapping. */
  readonly #paths: Map<string, string>;

  private constructor(mapping: Mapping, paths: Map<string, string>) {
    this.mapping = mapping;
    this.#paths = paths;
  }

  /** Examines the input. Rejects with `ImportError` when there is nothing from which the mapping makes records. */
  static async open(path: string, mapping: Mapping): Promise<MappedSource> {
    const paths = await pathsOf(path, mapping);
    const wanted = mapping.files.filter(({ record }) => record).map(({ name }) => name);
    if (wanted.some((name) => paths.has(name))) return new MappedSource(mapping, paths);
    throw new ImportError(`${path} contains none of ${wanted.join(', ')}.`);
  }

  /** The files that an import will lack. */
  get missingFiles(): string[] {
    return this.mapping.files.map(({ name }) => name).filter((name) => !this.#paths.has(name));
  }

  /** Returns the columns that its files should have but lack. Rejects with `ImportError`. */
  async missingColumns(): Promise<{ file: string; columns: string[] }[]> {
    const missing = [];
    for (const file of this.mapping.files) {
      const path = this.#paths.get(file.name);
      if (path === undefined) continue;
      const present = new Set(await readCsvHeader(path));
      const columns = unmadeColumns(file).filter((name) => !present.has(name));
      if (columns.length > 0) missing.push({ file: file.name, columns });
    }
    return missing;
  }

  fingerprint(): Promise<Fingerprint> {
    return fingerprintOf([...this.#paths.values()]);
  }

  async survey(
    onUnreadable: (entry: UnreadableEntry) => void,
    stop: AbortSignal,
  ): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for (const file of this.mapping.files) {
      for await (const entry of this.#rows(file)) {
        if (stop.aborted) return counts;
        if ('error' in entry) onUnreadable({ source: `${file.name}:${entry.line}`, error: entry.error });
        else if (file.record) counts.set(file.record.kind, (counts.get(file.record.kind) ?? 0) + 1);
      }
    }
    return counts;
  }

  async *records(kind: string): AsyncGenerator<SourceRecord> {
    for (const file of this.mapping.files) {
      if (file.record?.kind !== kind) continue;
      const { rule, joins } = file.record;
      const joined = await this.#joined(joins);
      for await (const entry of this.#rows(file)) {
        if ('error' in entry) continue;
        const warnings: FieldMessage[] = [];
        const cells = joined(entry.cells);
        const record = rule.valueFrom(cells, (remark) => warnings.push(remark)) as SourceRecord['record'];
        yield { kind, source: `${file.name}:${entry.line}`, record, warnings };
      }
    }
  }

  /** Returns a function that extends a row's own cells with those that it joins. */
  async #joined(joins: Record<string, Join>): Promise<(own: Cells) => Cells> {
    const tables = await Promise.all(
      Object.entries(joins).map(async ([prefix, join]) => ({
        start: `${prefix}.`,
        join,
        rows: await this.#rowsByKey(join),
      })),
    );
    return (own) => (column) => {
      const table = tables.find(({ start }) => column.startsWith(start));
      if (table === undefined) return own(column);
      const cells = table.rows.get(own(table.join.equals)) ?? noCells;
      return cells(column.slice(table.start.length));
    };
  }

  async #rowsByKey({ file, column, latest }: Join): Promise<Map<string, Cells>> {
    const rows = new Map<string, Cells>();
    const mapped = this.mapping.files.find(({ name }) => name === file);
    if (mapped === undefined) return rows;
    for await (const entry of this.#rows(mapped)) {
      if ('error' in entry) continue;
      const key = entry.cells(column);
      if (key === '') continue;
      const known = rows.get(key);
      const isLater = !known || latest === undefined || entry.cells(latest) >= known(latest);
      if (isLater) rows.set(key, entry.cells);
    }
    return rows;
  }

  async *#rows(file: FileMapping) {
    const path = this.#paths.get(file.name);
    if (path !== undefined) yield* readMappedRows(path, file);
  }
}

async function pathsOf(path: string, { files }: Mapping): Promise<Map<string, string>> {
  try {
    const isFile = (await stat(path)).isFile();
    if (isFile && files.length === 1) return new Map(files.map(({ name }) => [name, path]));
    const [folder, names] = isFile ? [dirname(path), [basename(path)]] : [path, await readdir(path)];
    const present = files.filter(({ name }) => names.includes(name));
    return new Map(present.map(({ name }) => [name, join(folder, name)]));
  } catch (error) {
    const { code } = error as { code?: string };
    throw new ImportError(`${path} is not a readable folder (${code}). Specify the folder of the CSV files.`);
  }
}
