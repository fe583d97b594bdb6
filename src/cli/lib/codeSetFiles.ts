import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { CsvError, parse } from 'csv-parse';
import type { CodeSetContent } from '../../modules/readiness/rules/codeSets.ts';
import { ofFile } from './files.ts';
import { CommandError } from './terminal.ts';

/** A row of a file: the wanted columns, by their names. */
interface Row {
  record: Record<string, string | undefined>;
  info: { lines: number };
}

const NEWLINE = 0x0a;

/**
 * Passes the rows of a CSV file on, one after another, with the columns that are wanted; resolves with how many there were.
 * `endsLines`: the last line of the whole file has an end. Rejects with `CommandError` when it is no CSV file with these columns, has no
 * rows, or was cut off, and with `conflict` when it cannot be read.
 */
async function readRows(
  path: string,
  { columns, publisher, endsLines }: { columns: readonly string[]; publisher: string; endsLines: boolean },
  onRow: (row: Row) => void,
): Promise<number> {
  const name = basename(path);
  const wanted = new Map(columns.map((column) => [nameOf(column), column]));
  let present: (string | undefined)[] = [];
  // Codes are ASCII, and so are all characters with a meaning in CSV, in Latin-1 as in UTF-8.
  const parser = parse({
    bom: true,
    columns: (header: string[]) => {
      present = header.map((column) => wanted.get(nameOf(column)));
      return present.map((column) => column ?? null);
    },
    info: true,
    skip_empty_lines: true,
    skip_records_with_empty_values: true,
  });
  const requireColumns = () => {
    const missing = columns.find((column) => !present.includes(column));
    if (missing !== undefined)
      throw new CommandError(`${name} has no column ${missing}: it is not the CSV file that ${publisher}.`);
  };
  let rows = 0;
  let lastByte: number | undefined;
  async function* noteLast(chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      lastByte = chunk.at(-1);
      yield chunk;
    }
  }
  try {
    await ofFile(path, () =>
      pipeline(createReadStream(path), noteLast, parser, async (all: AsyncIterable<Row>) => {
        for await (const row of all) {
          if (rows === 0) requireColumns();
          rows += 1;
          onRow(row);
        }
      }),
    );
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new CommandError(
      `${name} is not well-formed CSV (${error.code}): load the file that ${publisher}.`,
    );
  }
  if (lastByte === undefined) throw new CommandError(`${name} is empty: load the file that ${publisher}.`);
  requireColumns();
  if (rows === 0)
    throw new CommandError(`${name} has no rows below its header: load the whole file that ${publisher}.`);
  if (endsLines && lastByte !== NEWLINE)
    throw new CommandError(
      `${name} ends within a line, as a download that was cut off does: download it again.`,
    );
  return rows;
}

/** Columns are compared without case, blanks and underscores. */
function nameOf(column: string): string {
  return column.toLowerCase().replaceAll(/[\s_]/g, '');
}

const TAXONOMY_CODE = /^[0-9A-Z]{9}X$/;
/** NUCC publishes about 900. */
const FEWEST_CODES = 500;
const MOST_CODES = 5_000;

/**
 * Reads the codes in NUCC's CSV file of its taxonomy. Rejects with `CommandError` when it is a different file, or was truncated
 * or changed, and with `conflict` when it cannot be read.
 */
export async function readTaxonomy(path: string): Promise<CodeSetContent> {
  const name = basename(path);
  const codes = new Set<string>();
  const form = { columns: ['Code'], publisher: 'NUCC publishes', endsLines: true };
  await readRows(path, form, ({ record, info }) => {
    const code = (record.Code ?? '').trim();
    const where = `${name}: the row that ends in line ${info.lines}`;
    if (!TAXONOMY_CODE.test(code)) {
      throw new CommandError(`${where} has no taxonomy code: nine digits or capital letters and an X.`);
    }
    if (codes.has(code)) throw new CommandError(`${where} has a code that is also in an earlier row.`);
    codes.add(code);
  });
  if (codes.size < FEWEST_CODES || codes.size > MOST_CODES) {
    throw new CommandError(
      `${name} has ${codes.size} codes; the whole set has ${FEWEST_CODES} to ${MOST_CODES}. Load the whole file that NUCC publishes.`,
    );
  }
  return { codes: [...codes].sort() };
}

/** The whole file of NPPES has more than eight million rows, that of CMS more than 600,000. */
const FEWEST_NPIS = 1_000_000;
const FEWEST_LABORATORIES = 100_000;

/**
 * Reads what the file of NPPES says of these NPIs; the rest of it is read and not kept. Rejects as `readTaxonomy` does, also when it
 * seems to be a weekly file, which has only what has changed.
 */
export async function readNpis(path: string, npis: ReadonlySet<string>): Promise<CodeSetContent> {
  const columns = ['NPI', 'Entity Type Code', 'NPI Deactivation Date', 'NPI Reactivation Date'] as const;
  const codes: string[] = [];
  const organizations: string[] = [];
  const ended: [string, string][] = [];
  const form = { columns, publisher: 'NPPES publishes', endsLines: true };
  const rows = await readRows(path, form, ({ record }) => {
    const [npi = '', type, deactivated, reactivated] = columns.map((column) => record[column]);
    if (!npis.has(npi)) return;
    codes.push(npi);
    if (type === '2') organizations.push(npi);
    const [end, resumed] = [deactivated, reactivated].map(isoDayOf);
    if (end !== undefined && !(resumed !== undefined && resumed >= end)) ended.push([npi, end]);
  });
  requireWhole(path, { codes, numbers: npis, rows, fewest: FEWEST_NPIS });
  return withUnknown(npis, { codes, organizations: organizations.sort(), ended });
}

/** Returns a day of NPPES, such as `03/14/2026`, in ISO 8601. */
function isoDayOf(day: string | undefined): string | undefined {
  const [, month, date, year] = /^(\d\d)\/(\d\d)\/(\d{4})$/.exec(day ?? '') ?? [];
  return year && `${year}-${month}-${date}`;
}

/**
 * Reads what the CSV file of CMS (Provider of Services, clinical laboratories) says of these CLIA numbers. Rejects as `readNpis`
 * does.
 */
export async function readCliaNumbers(path: string, numbers: ReadonlySet<string>): Promise<CodeSetContent> {
  const columns = ['PRVDR_NUM', 'PGM_TRMNTN_CD', 'TRMNTN_EXPRTN_DT'] as const;
  const codes: string[] = [];
  const ended: [string, string][] = [];
  const form = { columns, publisher: 'CMS publishes', endsLines: true };
  const rows = await readRows(path, form, ({ record }) => {
    const [number = '', termination = '', date] = columns.map((column) => record[column]);
    if (!numbers.has(number)) return;
    codes.push(number);
    const day = /^(\d{4})-?(\d\d)-?(\d\d)$/.exec(date ?? '');
    // The date of a certificate that was not terminated is the one on which it has to be renewed.
    if (day !== null && !/^0*$/.test(termination)) ended.push([number, day.slice(1).join('-')]);
  });
  requireWhole(path, { codes, numbers, rows, fewest: FEWEST_LABORATORIES });
  return withUnknown(numbers, { codes, ended });
}

/** A part of the file would make numbers unknown that are in another part of it. */
function requireWhole(
  path: string,
  of: { codes: readonly string[]; numbers: ReadonlySet<string>; rows: number; fewest: number },
): void {
  const { codes, numbers, rows, fewest } = of;
  if (rows < fewest && codes.length < numbers.size / 2)
    throw new CommandError(
      `${basename(path)} has ${rows} rows, with ${codes.length} of the ${numbers.size} numbers of records. Load the whole file, not one of changes.`,
    );
}

function withUnknown(
  numbers: ReadonlySet<string>,
  { codes, ended, ...found }: { codes: string[]; ended: [string, string][]; organizations?: string[] },
): CodeSetContent {
  const present = new Set(codes);
  return {
    ...{ codes: [...present].sort(), ...found },
    ended: Object.fromEntries(ended.sort()),
    unknown: [...numbers].filter((number) => !present.has(number)).sort(),
  };
}

const PAYER_ID = /^[A-Z0-9][A-Z0-9_-]{1,79}$/;

/**
 * Reads the payer IDs in columns of a CSV file of a clearinghouse, in capital letters; a column may hold several, separated by blanks,
 * commas, semicolons or bars. Rejects as `readTaxonomy` does.
 */
export async function readPayerIds(path: string, columns: readonly string[]): Promise<CodeSetContent> {
  const codes = new Set<string>();
  // Spreadsheets do not end the last line of what they export.
  const form = { columns, publisher: 'your clearinghouse publishes', endsLines: false };
  await readRows(path, form, ({ record }) => {
    const values = columns.flatMap((column) => (record[column] ?? '').toUpperCase().split(/[\s,;|]+/));
    for (const code of values) if (PAYER_ID.test(code)) codes.add(code);
  });
  if (codes.size === 0) throw new CommandError(`${basename(path)} has no payer IDs.`);
  return { codes: [...codes].sort() };
}
