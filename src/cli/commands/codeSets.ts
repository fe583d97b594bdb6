import { Argument, type Command, Option } from 'commander';
import { findNumbers, loadCodeSet } from '../../modules/readiness/loadCodeSet.ts';
import {
  type CodeSetContent,
  type CodeSetName,
  codeSetNames,
  readLoadedSets,
} from '../../modules/readiness/rules/codeSets.ts';
import { type WorkspaceTools, withCurrentModels, withInstallation } from '../../server/stores.ts';
import { readCliaNumbers, readNpis, readPayerIds, readTaxonomy } from '../lib/codeSetFiles.ts';
import {
  CommandError,
  counted,
  example,
  printable,
  writeJson,
  writeLine,
  writeTable,
} from '../lib/terminal.ts';

const PAYER_ID_COLUMN = 'Payer ID';

interface LoadOptions {
  release?: string;
  column?: string[];
}

/** Reads a set's file; of sets that are too large, what it says of the numbers that records have. */
async function readSet(
  { eventLog, directory }: WorkspaceTools,
  set: CodeSetName,
  file: string,
  columns: readonly string[],
): Promise<CodeSetContent> {
  if (set === 'nucc') return readTaxonomy(file);
  if (set === 'payers') return readPayerIds(file, columns);
  const numbers = await withCurrentModels(eventLog, (readModels) =>
    findNumbers(readModels, directory.known.workspaces.keys(), set),
  );
  return set === 'nppes' ? readNpis(file, numbers) : readCliaNumbers(file, numbers);
}

/** Returns what was loaded in words. */
function summaryOf(set: CodeSetName, { codes, ended = {}, unknown }: CodeSetContent): string {
  const of = counted(codes.length, 'code');
  if (unknown === undefined) return `Code set ${set}: ${of}.`;
  const ends = Object.keys(ended).length;
  return `Code set ${set}: ${of} of records, ${ends} of them ended; ${unknown.length} of records are not in the file.`;
}

/** `chartledger code-sets …` */
export function addCodeSetCommands(codeSets: Command): void {
  codeSets
    .command('load')
    .description(
      'Load a code set for all workspaces: the provider taxonomy of NUCC, the NPIs of NPPES, the CLIA numbers of ' +
        'CMS, or the payer IDs of a clearinghouse. The rules that use it apply from then on.',
    )
    .addArgument(new Argument('<set>', 'the code set').choices(codeSetNames))
    .argument('<file>', 'the CSV file that its publisher provides; /dev/stdin for standard input')
    .option('--release <name>', "the publisher's name for the release, such as a date")
    .addOption(
      new Option(
        '--column <name...>',
        `with payers: the columns with payer IDs (default: ${PAYER_ID_COLUMN})`,
      ),
    )
    .addHelpText(
      'after',
      example(
        'chartledger code-sets load nucc nucc_taxonomy_260.csv --release 26.0',
        "unzip -p NPPES.zip 'npidata_pfile_*[0-9].csv' | chartledger code-sets load nppes /dev/stdin --release 2026-11-08",
      ),
    )
    .action(async (set: CodeSetName, file: string, { release, column }: LoadOptions) => {
      if (column !== undefined && set !== 'payers')
        throw new CommandError('--column belongs to the set payers: the columns of the others are known.');
      await withInstallation(async (tools) => {
        const content = await readSet(tools, set, file, column ?? [PAYER_ID_COLUMN]);
        await loadCodeSet(tools.eventLog, tools.caller, set, content, release);
        writeLine(summaryOf(set, content));
      });
    });

  codeSets
    .command('list')
    .description('List the loaded code sets, latest last.')
    .option('--json', 'print a JSON array')
    .addHelpText('after', example('chartledger code-sets list'))
    .action(({ json }: { json?: boolean }) =>
      withInstallation(async ({ eventLog }) => {
        const loaded = await Promise.all(codeSetNames.map((name) => readLoadedSets(eventLog, name)));
        const found = loaded
          .flat()
          .sort((one, other) => one.event.position - other.event.position)
          .map(({ event, data: { set, release }, codes, ended, unknown }) => ({
            set,
            release: release ?? null,
            ...{ codes: codes.size, ended: ended.size, unknown: unknown.size },
            loaded_at: event.recordedAt,
            loaded_by: event.metadata.principal.id,
          }));
        if (json) writeJson(found);
        else if (found.length === 0)
          writeLine('No code set was loaded: codes are held against their patterns.');
        else
          writeTable(
            ['SET', 'RELEASE', 'CODES', 'ENDED', 'UNKNOWN', 'LOADED', 'BY'],
            found.map((one) => [
              one.set,
              printable(one.release ?? '-'),
              String(one.codes),
              String(one.ended),
              String(one.unknown),
              one.loaded_at,
              printable(one.loaded_by),
            ]),
          );
      }),
    );
}
