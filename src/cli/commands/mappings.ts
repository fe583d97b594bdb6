import { type Command, Option } from 'commander';
import { isJsonObject } from '../../domain/events/event.ts';
import type { FieldChange } from '../../domain/records/fold.ts';
import { validate, validationError } from '../../domain/records/schema/validation.ts';
import { mappingAccesses } from '../../modules/audit/accesses.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import {
  type AppliedComparison,
  applyComparison,
  type CandidateMapping,
  compareMappings,
  type MappingComparison,
} from '../../modules/integrations/replay/compare.ts';
import { configureSource } from '../../modules/integrations/sourceCommands.ts';
import {
  BUILT_IN_SOURCE,
  numberOf,
  readConfigurations,
  type Source,
  sourceSchema,
} from '../../modules/integrations/sources.ts';
import { notFound } from '../../platform/errors.ts';
import { terminal } from '../../server/terminal.ts';
import { type IngestTools, withIngest } from '../../server/withIngest.ts';
import { readJsonFile } from '../lib/files.ts';
import { parsePositive } from '../lib/options.ts';
import { count, example, FAILED, printable, writeJson, writeLine } from '../lib/terminal.ts';

/** Returns a comparison's form in JSON. */
function comparisonView({ messages, changed, made, left, otherwise }: MappingComparison) {
  return {
    messages,
    changed: changed.map(({ kind, id, version, changes, changedSince, messages: by }) => ({
      ...{ kind, id, version, changes, changed_since: changedSince, messages: by },
    })),
    made,
    left,
    otherwise,
  };
}

/** Prints what would change, and how, one record after the other. */
function writeComparison({ messages, changed, made, left, otherwise }: MappingComparison): void {
  for (const { kind, id, version, changes, changedSince } of changed) {
    writeLine(`${kind} ${printable(id)}, version ${version}`);
    for (const change of changes) writeLine(`  ${changeText(change)}`);
    for (const change of changedSince) writeLine(`  changed since, stays: ${changeText(change)}`);
  }
  for (const { kind, id } of made) writeLine(`made: ${kind} ${printable(id)}`);
  for (const { kind, id } of left) writeLine(`named no more, stays: ${kind} ${printable(id)}`);
  for (const { message, from, to, problems } of otherwise) {
    writeLine(`message ${message}: ${to}; it was ${from}`);
    for (const { at, text } of problems) writeLine(`  ${at}: ${text}`);
  }
  const corrected = changed.filter(({ changes }) => changes.length > 0).length;
  writeLine(
    `By ${count(messages)} messages: records that change ${count(corrected)}, that are made ${count(made.length)}, that are named no more ${count(left.length)}; messages that come to something else ${count(otherwise.length)}.`,
  );
}

/** Prints the results of the records, after the comparison. */
function writeApplied({ applied, refused }: AppliedComparison): void {
  for (const { kind, id, outcome, version } of applied) {
    writeLine(`${outcome}: ${kind} ${printable(id)}, version ${version}`);
  }
  for (const { kind, id, text } of refused) writeLine(`not written: ${kind} ${printable(id)}: ${text}`);
  if (applied.length + refused.length === 0)
    writeLine('The source is configured so, and nothing was to be written.');
}

function changeText({ field, from, to }: FieldChange): string {
  return `${field}: ${valueText(from)} → ${valueText(to)}`;
}

function valueText(value: FieldChange['from']): string {
  return value === null ? 'nothing' : printable(JSON.stringify(value));
}

/**
 * Reads the configuration of a source from a file, in the form printed by `sources list --json`. Rejects with
 * `validation_failed`, also when it belongs to another source: only messages that arrived when none was configured may be given a
 * source with its own name.
 */
async function readCandidate(path: string, sourceId: string): Promise<Source> {
  const value = await readJsonFile(path);
  const candidate = validate(sourceSchema, isJsonObject(value) ? withoutNone(value) : value);
  if (sourceId !== BUILT_IN_SOURCE && candidate.id !== sourceId) {
    throw validationError([{ field: 'id', message: 'must match the source whose messages are read' }]);
  }
  return candidate;
}

/** Unconfigured members are printed as `null`, or as an empty object. */
function withoutNone(value: object): object {
  const isSome = (one: unknown) => one !== null && !(isJsonObject(one) && Object.keys(one).length === 0);
  return Object.fromEntries(Object.entries(value).filter(([, one]) => isSome(one)));
}

interface MappingOptions {
  workspace: string;
  source: string;
  last: number;
  json?: boolean;
}

const DEFAULT_LAST = 1000;

/** `chartledger mappings …` */
export function addMappingCommands(mappings: Command): void {
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
