import type { Command } from 'commander';
import { configureSource } from '../../modules/integrations/configureSource.ts';
import { bindingTexts } from '../../modules/integrations/mllpBinding.ts';
import { removeSource } from '../../modules/integrations/removeSource.ts';
import type { Source } from '../../modules/integrations/source.ts';
import { isDefault } from '../../modules/integrations/sourceOf.ts';
import { withWorkspace } from '../../server/withStores.ts';
import { example, printable, writeJson, writeLine } from '../lib/output.ts';
import { listSources, sourceView } from './listSources.ts';
import { addSourceOptions, type SourceOptions, sourceOfOptions } from './sourceOptions.ts';

interface SetOptions extends SourceOptions {
  workspace: string;
  json?: boolean;
}

/** `chartledger sources …` */
export function addSourceCommands(program: Command): void {
  const sources = program
    .command('sources')
    .description(
      'EMRs that send FHIR or HL7 v2 to a workspace, and how their messages are read. A running service ' +
        'picks up every change automatically.',
    );

  sources
    .command('list')
    .description('List the sources of a workspace.')
    .requiredOption('--workspace <id>', 'the workspace')
    .option('--json', 'print a JSON array')
    .addHelpText('after', example('chartledger sources list --workspace clinic'))
    .action(listSources);

  addSourceOptions(
    sources
      .command('set')
      .description(
        'Set the complete configuration of a source: options that are not given are no longer set.',
      )
      .argument('<id>', 'the id of the source: 1 to 64 of a to z, 0 to 9, _ and -')
      .requiredOption('--workspace <id>', 'the workspace'),
  )
    .option('--json', 'print the source as JSON')
    .addHelpText(
      'after',
      example(
        'chartledger sources set epic --workspace clinic --format fhir --key key_4fTq9LmZs2Xw8RbC --id-system Patient=https://hospital.example/mrn',
        'chartledger sources set lab --workspace clinic --format hl7v2 --time-zone America/Chicago --patient-authority HOSP --facility main --facility-name "Main Campus"',
        'chartledger sources set lab --workspace clinic --format hl7v2 --mllp-network 192.0.2.0/24',
      ),
    )
    .action(setSource);

  sources
    .command('remove')
    .description('Remove a source. Everything that it sent is kept.')
    .argument('<id>', 'the id of the source, as listed')
    .requiredOption('--workspace <id>', 'the workspace')
    .addHelpText('after', example('chartledger sources remove epic --workspace clinic'))
    .action((id: string, { workspace }: { workspace: string }) =>
      withWorkspace(workspace, async ({ eventLog, caller }) => {
        await removeSource(eventLog, caller, id);
        writeLine(`Source ${id} of workspace ${workspace} is removed.`);
      }),
    );
}

async function setSource(id: string, { workspace, json, ...options }: SetOptions): Promise<void> {
  const input = await sourceOfOptions(id, options);
  const source = await withWorkspace(workspace, ({ caller, ...ports }) =>
    configureSource(ports, caller, input),
  );
  if (json) {
    writeJson(sourceView(source));
    return;
  }
  writeLine(`Source ${id} in workspace ${workspace}: what is sent as ${source.format} ${senderOf(source)}.`);
}

function senderOf(source: Source): string {
  if (isDefault(source)) return 'with any key that has no source of its own';
  const { key, mllp } = source;
  return [
    ...(key === undefined ? [] : [`with key ${key}`]),
    ...(mllp === undefined
      ? []
      : [
          `over MLLP (${bindingTexts(mllp)
            .map((text) => printable(text))
            .join(', ')})`,
        ]),
  ].join(' and ');
}
