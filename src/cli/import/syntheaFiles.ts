import { basename } from 'node:path';
import { readCsv, readCsvHeader } from './readCsv.ts';

/** The columns that the mapping reads, by file, under the names that Synthea has given them since version 3.1. */
const syntheaColumns = {
  'payers.csv': ['Id', 'NAME', 'OWNERSHIP', 'ADDRESS', 'CITY', 'STATE_HEADQUARTERED', 'ZIP', 'PHONE'],
  'patients.csv': ['Id', 'FIRST', 'LAST', 'BIRTHDATE', 'GENDER', 'SSN', 'ADDRESS', 'CITY', 'STATE', 'ZIP'],
  'payer_transitions.csv': [
    'PATIENT',
    'MEMBERID',
    'START_DATE',
    'END_DATE',
    'PAYER',
    'SECONDARY_PAYER',
    'PLAN_OWNERSHIP',
    'OWNER_NAME',
  ],
  'providers.csv': ['Id', 'NAME', 'SPECIALITY', 'ADDRESS', 'CITY', 'STATE', 'ZIP'],
  'organizations.csv': ['Id', 'NAME', 'ADDRESS', 'CITY', 'STATE', 'ZIP', 'PHONE'],
  'encounters.csv': ['Id', 'START', 'STOP', 'PATIENT', 'ORGANIZATION', 'PROVIDER', 'ENCOUNTERCLASS'],
} as const;

export type SyntheaFile = keyof typeof syntheaColumns;

export const syntheaFiles = Object.keys(syntheaColumns) as SyntheaFile[];

/** A row by its header; an empty cell is an empty string, a column that the file does not have is missing. */
export type SyntheaRow<File extends SyntheaFile> = Partial<
  Record<(typeof syntheaColumns)[File][number], string>
>;

interface EarlierColumn {
  name: string;
  /** What its cells are today. */
  convert?: (cell: string) => string;
}

/** How columns were called, and what they held, before Synthea 3.1: years of coverage, both included. */
const earlierColumns: Partial<Record<SyntheaFile, Partial<Record<string, EarlierColumn>>>> = {
  'payer_transitions.csv': {
    START_YEAR: { name: 'START_DATE', convert: (year) => year && `${year}-01-01` },
    END_YEAR: { name: 'END_DATE', convert: (year) => year && `${year}-12-31` },
    OWNERSHIP: { name: 'PLAN_OWNERSHIP' },
    OWNERNAME: { name: 'OWNER_NAME' },
  },
};

/** The expected columns that a file does not have, in either generation. Rejects with `ImportError`. */
export async function missingColumns(path: string): Promise<string[]> {
  const file = basename(path) as SyntheaFile;
  const earlier = earlierColumns[file] ?? {};
  const present = new Set((await readCsvHeader(path)).map((name) => earlier[name]?.name ?? name));
  return syntheaColumns[file].filter((name) => !present.has(name));
}

export type SyntheaEntry<File extends SyntheaFile> =
  | { line: number; row: SyntheaRow<File> }
  | { line: number; error: string };

/** The rows of a file, under today's names of columns. */
export async function* readSyntheaFile<File extends SyntheaFile>(
  path: string,
): AsyncGenerator<SyntheaEntry<File>> {
  const earlier = earlierColumns[basename(path) as SyntheaFile] ?? {};
  const header = await readCsvHeader(path);
  const columns = header.map((name): EarlierColumn => earlier[name] ?? { name });
  for await (const entry of readCsv(path)) {
    if ('error' in entry) {
      yield entry;
      continue;
    }
    const cells = columns.map(({ name, convert = (cell) => cell }, index) => [
      name,
      convert(entry.cells[index] ?? ''),
    ]);
    yield { line: entry.line, row: Object.fromEntries(cells) };
  }
}
