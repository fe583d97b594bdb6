import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { CsvError } from 'csv-parse';
import { parse } from 'csv-parse/sync';
import { CommandError } from '../lib/CommandError.ts';
import { ofFile } from '../lib/ofFile.ts';

const CODE = /^[0-9A-Z]{9}X$/;
/** NUCC publishes about 900. */
const FEWEST_CODES = 500;
const MOST_CODES = 5_000;

/**
 * Reads the codes in NUCC's CSV file of its taxonomy. Rejects with `CommandError` when it is a different file, or was truncated
 * or changed, and with `conflict` when it cannot be read.
 */
export async function readTaxonomyFile(path: string): Promise<string[]> {
  const name = basename(path);
  // The file is Latin-1 or UTF-8. Codes are ASCII, and so are all characters with a meaning in CSV, in either.
  const text = await ofFile(path, () => readFile(path, 'latin1'));
  const rows = rowsOf(name, text.replace(/^\u00ef\u00bb\u00bf/, ''));
  if (rows.some(({ record }) => record.Code === undefined)) {
    throw new CommandError(`${name} has no column Code: it is not the CSV file that NUCC publishes.`);
  }
  const codes = new Set<string>();
  for (const { record, info } of rows) {
    const code = (record.Code as string).trim();
    const where = `${name}: the row that ends in line ${info.lines}`;
    if (!CODE.test(code)) {
      throw new CommandError(`${where} has no taxonomy code: nine digits or capital letters and an X.`);
    }
    if (codes.has(code)) throw new CommandError(`${where} has a code that is also in an earlier row.`);
    codes.add(code);
  }
  if (codes.size < FEWEST_CODES || codes.size > MOST_CODES) {
    throw new CommandError(
      `${name} has ${codes.size} codes; the whole set has ${FEWEST_CODES} to ${MOST_CODES}. Load the whole file that NUCC publishes.`,
    );
  }
  return [...codes];
}

interface Row {
  record: Record<string, string | undefined>;
  info: { lines: number };
}

function rowsOf(name: string, text: string): Row[] {
  try {
    return parse(text, {
      columns: true,
      info: true,
      skip_empty_lines: true,
      skip_records_with_empty_values: true,
    }) as unknown as Row[];
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new CommandError(
      `${name} is not well-formed CSV (${error.code}): load the file that NUCC publishes.`,
    );
  }
}
