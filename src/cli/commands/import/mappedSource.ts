import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { catalog, catalogEntry } from '../../../domain/records/catalog.ts';
import type { FieldMessage } from '../../../platform/errors.ts';
import { type Cells, compileFields, problemOf, type Rule } from './mapping.ts';
import {
  type Fingerprint,
  fingerprintOf,
  ImportError,
  type ImportSource,
  readCsv,
  readCsvHeader,
  type SourceRecord,
  type UnreadableEntry,
} from './source.ts';

/** A row as read by a mapping, or why there is none. */
type MappedRow = { line: number; cells: Cells } | { line: number; error: string };

const placeholder = /\{([^{}]+)\}/g;

/** Returns the columns that a file must have: those that are read, and those from which others are made. */
function unmadeColumns({ read, columns }: FileMapping): string[] {
  const unmade = read.flatMap((name) => {
    const template = columns[name];
    return template === undefined
      ? [name]
      : [...template.matchAll(placeholder)].map(([, column = '']) => column);
  });
  return [...new Set(unmade)];
}

/** Yields the rows of a CSV file, with the columns that its mapping makes. */
async function* readMappedRows(path: string, { columns }: FileMapping): AsyncGenerator<MappedRow> {
  const indexes = new Map((await readCsvHeader(path)).map((name, index) => [name, index]));
  for await (const entry of readCsv(path)) {
    if ('error' in entry) {
      yield entry;
      continue;
    }
    const own: Cells = (column) => entry.cells[indexes.get(column) ?? -1] ?? '';
    yield {
      line: entry.line,
      cells: (column) =>
        Object.hasOwn(columns, column) ? filled(columns[column] as string, own) : own(column),
    };
  }
}

/** Fills in a template with the texts of its columns; returns an empty text if one of them is empty. */
function filled(template: string, cells: Cells): string {
  let isWhole = true;
  const text = template.replaceAll(placeholder, (_, column: string) => {
    const cell = cells(column);
    isWhole &&= cell !== '';
    return cell;
  });
  return isWhole ? text : '';
}

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

const joinSchema = z.strictObject({
  file: z.string(),
  column: z.string(),
  equals: z.string(),
  latest: z.string().optional(),
});

const fileSchema = z.strictObject({
  kind: z.enum(catalog.map(({ kind }) => kind)).optional(),
  columns: z.record(z.string(), z.string()).optional(),
  joins: z.record(z.string(), joinSchema).optional(),
  fields: z.record(z.string(), z.unknown()).optional(),
});

const mappingSchema = z.strictObject({
  extends: z.string().optional(),
  files: z.record(z.string(), fileSchema),
});

type WrittenMapping = z.infer<typeof mappingSchema>;

/** The rows of another file that belong to a row, of which one is used. */
type Join = z.infer<typeof joinSchema>;

/** A mapping's rules for a CSV file. */
interface FileMapping {
  name: string;
  /** Columns made from others: `{YEAR}-01-01`. */
  columns: Record<string, string>;
  /** What its rows become; undefined for a file that is only joined by others. */
  record?: { kind: string; rule: Rule; joins: Record<string, Join> };
  /** The columns that are read, including made ones. */
  read: string[];
}

interface Mapping {
  files: FileMapping[];
  /** Of all its contents. */
  digest: string;
}

/** Reads the mapping in a file. Rejects with `ImportError`, which says where it is wrong. */
export async function readMapping(path: string): Promise<Mapping> {
  const written = await readWritten(path);
  try {
    const files = Object.entries(written.files).map(([name, file]) => compileFile(name, file));
    addJoinedColumns(files);
    const digest = createHash('sha256').update(JSON.stringify(written.files)).digest('hex');
    return { files, digest };
  } catch (error) {
    throw error instanceof ImportError ? new ImportError(`${path}: ${error.message}`) : error;
  }
}

/** Returns the file's contents merged over what it extends: a file's parts replace those with the same name there. */
async function readWritten(path: string): Promise<WrittenMapping> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    const { code } = error as { code?: string };
    throw new ImportError(code ? `${path} cannot be read (${code}).` : `${path} is not JSON.`);
  }
  const { data: written, error } = mappingSchema.safeParse(value);
  if (error) throw new ImportError(`${path}: ${problemOf(error)}.`);
  if (written.extends === undefined) return written;
  const base = await readWritten(resolve(dirname(path), written.extends));
  const files = { ...base.files };
  for (const [name, file] of Object.entries(written.files)) files[name] = { ...files[name], ...file };
  return { files };
}

function compileFile(name: string, written: WrittenMapping['files'][string]): FileMapping {
  const { kind, fields, columns = {}, joins = {} } = written;
  const place = `files.${name}`;
  if ((kind === undefined) !== (fields === undefined)) {
    throw new ImportError(`${place}: "kind" and "fields" must be used together.`);
  }
  if (kind === undefined || fields === undefined) return { name, columns, read: [] };
  const { title, schema } = catalogEntry(kind);
  const rule = compileFields(fields, { place: `${place}.fields`, title, schema });
  const isJoined = (column: string) => Object.keys(joins).some((join) => column.startsWith(`${join}.`));
  const read = [
    ...rule.columns.filter((column) => !isJoined(column)),
    ...Object.values(joins).map(({ equals }) => equals),
  ];
  return { name, columns, record: { kind, rule, joins }, read: [...new Set(read)] };
}

/** Adds to each file the columns that others read from it. */
function addJoinedColumns(files: FileMapping[]): void {
  for (const { name, record } of files) {
    for (const [prefix, join] of Object.entries(record?.joins ?? {})) {
      const joined = files.find((file) => file.name === join.file);
      if (!joined) throw new ImportError(`files.${name}.joins.${prefix}: "files" has no file ${join.file}.`);
      const columns = record?.rule.columns.filter((column) => column.startsWith(`${prefix}.`)) ?? [];
      const own = columns.map((column) => column.slice(prefix.length + 1));
      const read = [...joined.read, join.column, ...own, ...(join.latest ? [join.latest] : [])];
      joined.read = [...new Set(read)];
    }
  }
}
