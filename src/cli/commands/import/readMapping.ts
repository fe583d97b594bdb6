import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { catalog, catalogEntry } from '../../../domain/records/catalog.ts';
import { compileFields, problemOf } from './compileFields.ts';
import { ImportError } from './importSource.ts';
import type { Rule } from './Rule.ts';

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
export type Join = z.infer<typeof joinSchema>;

/** A mapping's rules for a CSV file. */
export interface FileMapping {
  name: string;
  /** Columns made from others: `{YEAR}-01-01`. */
  columns: Record<string, string>;
  /** What its rows become; undefined for a file that is only joined by others. */
  record?: { kind: string; rule: Rule; joins: Record<string, Join> };
  /** The columns that are read, including made ones. */
  read: string[];
}

export interface Mapping {
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
