import { type Command, Option } from 'commander';
import { mappingAccesses } from '../../modules/audit/messageAccesses.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { numberOf, readConfigurations } from '../../modules/integrations/configurations.ts';
import { configureSource } from '../../modules/integrations/configureSource.ts';
import { applyComparison } from '../../modules/integrations/replay/applyComparison.ts';
import {
  type CandidateMapping,
  compareMappings,
  type MappingComparison,
} from '../../modules/integrations/replay/compareMappings.ts';
import { notFound } from '../../platform/errors.ts';
import { terminal } from '../../server/terminal.ts';
import { type IngestTools, withIngest } from '../../server/withIngest.ts';
import { example, FAILED, writeJson } from '../lib/output.ts';
import { parsePositive } from '../lib/parsePositive.ts';
import { comparisonView, writeApplied, writeComparison } from './comparisonView.ts';
import { readCandidate } from './readCandidate.ts';

interface MappingOptions {
  workspace: string;
  source: string;
  last: number;
  json?: boolean;
}

const DEFAULT_LAST = 1000;

/** `chartledger mappings …` */
export function addMappingCommands(program: Command): void {
  const mappings = program
    .command('mappings')
    .description(
      'Compare what another configuration of a source would have made of the messages that it sent.',
    );

  addOptions(
    mappings
      .command('test')
      .description(
        'Show which records would change, and how, under another configuration of a source. Nothing is ' +
          'written; because the values are shown, this is recorded in the audit trail.',
      ),
  )
    .addHelpText('after', example('chartledger mappings test epic.json --source epic --workspace clinic'))
    .action(testMapping);

  addOptions(
    mappings
      .command('apply')
      .description(
        'Configure a source this way, create the records that are missing, and correct those that change: ' +
          'one event each, which names you and the last message that led to it. Running it again appends ' +
          'nothing more.',
      ),
  )
    .addHelpText('after', example('chartledger mappings apply epic.json --source epic --workspace clinic'))
    .action(applyMapping);
}

function addOptions(command: Command): Command {
  return command
    .argument('<file>', 'the configuration, as JSON: one source as `sources list --json` prints it')
    .requiredOption('--source <id>', 'the source whose messages are read')
    .requiredOption('--workspace <id>', 'the workspace')
    .addOption(
      new Option('--last <n>', 'read the last n of its messages')
        .argParser(parsePositive)
        .default(DEFAULT_LAST),
    )
    .option('--json', 'print the result as JSON');
}

async function testMapping(path: string, options: MappingOptions): Promise<void> {
  const candidate = await readCandidate(path, options.source);
  const comparison = await withIngest(options.workspace, (tools) =>
    compare(tools, { workspace: tools.workspace, sourceId: options.source, candidate, last: options.last }),
  );
  if (options.json) writeJson(comparisonView(comparison));
  else writeComparison(comparison);
}

async function applyMapping(path: string, options: MappingOptions): Promise<void> {
  const candidate = await readCandidate(path, options.source);
  const { comparison, result } = await withIngest(options.workspace, async (tools) => {
    const { ports, caller, workspace } = tools;
    // First, so that messages arriving in the meantime are read with it.
    await configureSource(ports, caller, candidate);
    const configuration = numberOf(await readConfigurations(ports.eventLog, workspace.id), candidate.id);
    const { source: sourceId, last } = options;
    const found = await compare(tools, { workspace, sourceId, candidate, last });
    // Someone may have removed it in the meantime.
    if (configuration === undefined) throw notFound('Source');
    const source = { id: candidate.id, configuration };
    return { comparison: found, result: await applyComparison(ports, caller, source, found) };
  });
  if (options.json) writeJson({ ...comparisonView(comparison), ...result });
  else {
    writeComparison(comparison);
    writeApplied(result);
  }
  if (result.refused.length > 0) terminal().exitCode = FAILED;
}

/** Compares, and records the access before anything is shown. */
async function compare(
  { ports, caller }: IngestTools,
  mapping: CandidateMapping,
): Promise<MappingComparison> {
  const comparison = await compareMappings(ports, mapping);
  const { changed, made, left, messages } = comparison;
  const query = { source: mapping.sourceId, last: String(mapping.last), messages: String(messages) };
  const [first, ...others] = mappingAccesses(query, [...changed, ...made, ...left]);
  await recordAccess(ports.eventLog, caller, first, ...others);
  return comparison;
}
