import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { Argument, type Command } from 'commander';
import { CsvError } from 'csv-parse';
import { parse } from 'csv-parse/sync';
import { loadTaxonomySet } from '../../modules/readiness/loadTaxonomySet.ts';
import { readTaxonomySets, TAXONOMY } from '../../modules/readiness/rules/rule.ts';
import { withInstallation } from '../../server/stores.ts';
import { ofFile } from '../lib/files.ts';
import {
  CommandError,
  counted,
  example,
  printable,
  writeJson,
  writeLine,
  writeTable,
} from '../lib/terminal.ts';

const CODE = /^[0-9A-Z]{9}X$/;
/** NUCC publishes about 900. */
const FEWEST_CODES = 500;
const MOST_CODES = 5_000;

/**
 * Reads the codes in NUCC's CSV file of its taxonomy. Rejects with `CommandError` when it is a different file, or was truncated
 * or changed, and with `conflict` when it cannot be read.
 */
async function readTaxonomyFile(path: string): Promise<string[]> {
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

/** `chartledger code-sets …` */
export function addCodeSetCommands(codeSets: Command): void {
  codeSets
    .command('load')
    .description(
      'Load the provider taxonomy. From then on, the rule taxonomy_code checks against it instead of the ' +
        'code pattern.',
    )
    .addArgument(new Argument('<set>', 'the code set').choices([TAXONOMY]))
    .argument('<file>', 'the CSV file that NUCC publishes')
    .option('--as <release>', "NUCC's name for the release")
    .addHelpText('after', example('chartledger code-sets load nucc nucc_taxonomy_260.csv --as 26.0'))
    .action(async (set: string, file: string, { as: release }: { as?: string }) => {
      const codes = await readTaxonomyFile(file);
      await withInstallation(({ eventLog, caller }) => loadTaxonomySet(eventLog, caller, codes, release));
      writeLine(`Code set ${set}: ${counted(codes.length, 'code')}.`);
    });

  codeSets
    .command('list')
    .description('List the loaded code sets, latest last.')
    .option('--json', 'print a JSON array')
    .addHelpText('after', example('chartledger code-sets list'))
    .action(({ json }: { json?: boolean }) =>
      withInstallation(async ({ eventLog }) => {
        const found = (await readTaxonomySets(eventLog)).map(({ event, codes, release }) => ({
          set: TAXONOMY,
          release: release ?? null,
          codes: codes.size,
          loaded_at: event.recordedAt,
          loaded_by: event.metadata.principal.id,
        }));
        if (json) writeJson(found);
        else if (found.length === 0)
          writeLine('No code set was loaded: codes are held against their patterns.');
        else
          writeTable(
            ['SET', 'RELEASE', 'CODES', 'LOADED', 'BY'],
            found.map((one) => [
              one.set,
              printable(one.release ?? '-'),
              String(one.codes),
              one.loaded_at,
              printable(one.loaded_by),
            ]),
          );
      }),
    );
}
