import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';

/** The files of tables in a folder, by path: their bytes in base64. */
export function filesIn(folder: string): Map<string, string> {
  const paths = globSync('**/*.parquet', { cwd: folder }).sort();
  return new Map(paths.map((path) => [path, readFileSync(join(folder, path), 'base64')]));
}

/** The rows of a table of Parquet files, by id or position, without the columns that are `null`. */
export async function tableIn(folder: string, table: string): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = [];
  for (const path of globSync(`${table}/**/*.parquet`, { cwd: folder }).sort())
    rows.push(...(await parquetReadObjects({ file: await asyncBufferFromFile(join(folder, path)) })));
  if (rows[0] && !('position' in rows[0])) rows.sort((a, b) => (String(a.id) < String(b.id) ? -1 : 1));
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null && value !== undefined)),
  );
}
