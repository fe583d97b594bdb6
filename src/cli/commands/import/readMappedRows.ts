import type { Cells } from './Rule.ts';
import { readCsv, readCsvHeader } from './readCsv.ts';
import type { FileMapping } from './readMapping.ts';

/** A row as read by a mapping, or why there is none. */
export type MappedRow = { line: number; cells: Cells } | { line: number; error: string };

const placeholder = /\{([^{}]+)\}/g;

/** Returns the columns that a file must have: those that are read, and those from which others are made. */
export function unmadeColumns({ read, columns }: FileMapping): string[] {
  const unmade = read.flatMap((name) => {
    const template = columns[name];
    return template === undefined
      ? [name]
      : [...template.matchAll(placeholder)].map(([, column = '']) => column);
  });
  return [...new Set(unmade)];
}

/** Yields the rows of a CSV file, with the columns that its mapping makes. */
export async function* readMappedRows(path: string, { columns }: FileMapping): AsyncGenerator<MappedRow> {
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
