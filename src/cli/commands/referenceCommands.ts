import { Argument, type Command } from 'commander';
import { loadTaxonomySet } from '../../modules/readiness/loadTaxonomySet.ts';
import { readTaxonomySets, TAXONOMY } from '../../modules/readiness/rules/taxonomySet.ts';
import { withInstallation } from '../../server/withStores.ts';
import { counted, example, printable, writeJson, writeLine, writeTable } from '../lib/output.ts';
import { readTaxonomyFile } from './readTaxonomyFile.ts';

/** `chartledger reference …` */
export function addReferenceCommands(program: Command): void {
  const reference = program
    .command('reference')
    .description('Code sets that readiness checks codes against, in all workspaces.');

  reference
    .command('load')
    .description(
      'Load the provider taxonomy. From then on, the rule taxonomy_code checks against it instead of the ' +
        'code pattern.',
    )
    .addArgument(new Argument('<set>', 'the code set').choices([TAXONOMY]))
    .argument('<file>', 'the CSV file that NUCC publishes')
    .option('--as <release>', "NUCC's name for the release")
    .addHelpText('after', example('chartledger reference load nucc nucc_taxonomy_260.csv --as 26.0'))
    .action(async (set: string, file: string, { as: release }: { as?: string }) => {
      const codes = await readTaxonomyFile(file);
      await withInstallation(({ eventLog, caller }) => loadTaxonomySet(eventLog, caller, codes, release));
      writeLine(`Code set ${set}: ${counted(codes.length, 'code')}.`);
    });

  reference
    .command('list')
    .description('List the loaded code sets, latest last.')
    .option('--json', 'print a JSON array')
    .addHelpText('after', example('chartledger reference list'))
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
