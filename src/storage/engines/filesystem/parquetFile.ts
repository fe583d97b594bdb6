import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { asyncBufferFromFile, parquetMetadataAsync, parquetRead, type SchemaElement } from 'hyparquet';
import { fileWriter, ParquetWriter } from 'hyparquet-writer';
import type { Cell, Column, ColumnType, TableRow } from '../../warehouse.ts';

/** Rows of a group, which a reader skips by its statistics, and which is in memory at a time. */
const GROUP_ROWS = 20_000;

const elements: Record<ColumnType, Omit<SchemaElement, 'name'>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  boolean: { type: 'BOOLEAN' },
  integer: { type: 'INT32' },
  bigint: { type: 'INT64' },
  timestamp: { type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' },
};

/** Yields the rows of a Parquet file that `writeRows` wrote, a group at a time. Rejects with the file system's error. */
export async function* readRows(path: string): AsyncGenerator<TableRow[]> {
  const file = await asyncBufferFromFile(path);
  const metadata = await parquetMetadataAsync(file);
  let rowStart = 0;
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows);
    let rows: TableRow[] = [];
    await parquetRead({
      ...{ file, metadata, rowStart, rowEnd },
      onComplete: (read: Cell[][]) => {
        rows = read;
      },
    });
    yield rows.map((row) => row.map((cell) => cell ?? null));
    rowStart = rowEnd;
  }
}

/**
 * Writes rows to a new Parquet file, durably; equal rows make equal bytes. Returns their number and the SHA-256 of the file, lower-case
 * hex. Rejects with the file system's error.
 */
export async function writeRows(
  path: string,
  columns: readonly Column[],
  rows: AsyncIterable<TableRow> | Iterable<TableRow>,
): Promise<{ rows: number; sha256: string }> {
  const writer = fileWriter(path);
  const schema = [{ name: 'row', num_children: columns.length }, ...columns.map(elementOf)];
  const parquet = new ParquetWriter({ writer, schema, createdBy: 'chartledger' });
  let count = 0;
  let group: TableRow[] = [];
  const writeGroup = async () => {
    await parquet.write({
      columnData: columns.map(({ name }, index) => ({ name, data: group.map((row) => row[index] ?? null) })),
      rowGroupSize: GROUP_ROWS,
    });
    count += group.length;
    group = [];
  };
  for await (const row of rows) {
    group.push(row);
    if (group.length === GROUP_ROWS) await writeGroup();
  }
  if (group.length > 0) await writeGroup();
  await parquet.finish();
  const file = await open(path);
  await file.sync().finally(() => file.close());
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return { rows: count, sha256: hash.digest('hex') };
}

function elementOf({ name, type }: Column, index: number): SchemaElement {
  return { name, ...elements[type], repetition_type: index === 0 ? 'REQUIRED' : 'OPTIONAL' };
}
