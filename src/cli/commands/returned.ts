import { Argument, type Command } from 'commander';
import { catalogEntry } from '../../domain/records/catalog.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { decideReturn, type ReturnedRecord, returnedRecords } from '../../modules/erasure/returned.ts';
import { type ReturnDecision, returnDecisions } from '../../modules/records/commands/returns.ts';
import { csvLine } from '../../platform/csv.ts';
import { type WorkspaceTools, withWorkspace } from '../../server/stores.ts';
import { addFormatOptions, kindArgument } from '../lib/options.ts';
import { example, print, printable, writeLine, writeTable } from '../lib/terminal.ts';

const formats = ['table', 'json', 'csv'] as const;

interface ReturnedOptions {
  workspace: string;
  format: (typeof formats)[number];
}

interface DecideOptions {
  workspace: string;
  reason: string;
}

type Named = ReturnedRecord & { principal_name: string | null };

const header = [
  ...['kind', 'id', 'erased_at', 'returned_at', 'version', 'principal_id', 'principal_name'],
  ...['state', 'refused_at', 'decided_at', 'reason'],
];

function cellsOf(one: Named): string[] {
  const { kind, id, erased_at, returned_at, version, principal, principal_name } = one;
  const { state, refused_at, decided } = one;
  return [
    ...[kind, id, erased_at, returned_at ?? '', String(version ?? ''), principal?.id ?? ''],
    ...[principal_name ?? '', state, refused_at ?? '', decided?.at ?? '', decided?.reason ?? ''],
  ];
}

async function list({ workspace, format }: ReturnedOptions): Promise<void> {
  await withWorkspace(workspace, async (tools) => {
    const { eventLog, caller } = tools;
    await recordAccess(eventLog, caller, { action: 'record.list', query: { returned: true } });
    if (format !== 'table') return print(texts(named(tools, workspace), format));
    const rows = (await Array.fromAsync(named(tools, workspace))).flat();
    writeTable(
      header.map((name) => name.replace('_', ' ').toUpperCase()),
      rows.map((one) => cellsOf(one).map((cell) => printable(cell))),
    );
  });
}

async function* named(
  { eventLog, names, directory }: WorkspaceTools,
  workspace: string,
): AsyncGenerator<Named[]> {
  for await (const part of returnedRecords(eventLog, workspace, directory.returnsOf(workspace))) {
    const found = part.map(({ record }) => record);
    await names.learn(found.flatMap(({ principal }) => principal ?? []));
    yield found.map((one) => ({
      ...one,
      principal_name: (one.principal && names.nameOf(one.principal)) ?? null,
    }));
  }
}

/** Yields the records as a file, some at a time. */
async function* texts(parts: AsyncIterable<Named[]>, format: 'csv' | 'json'): AsyncGenerator<string> {
  yield format === 'csv' ? csvLine(header) : '[';
  let isFirst = true;
  for await (const part of parts)
    for (const one of part) {
      yield format === 'csv' ? csvLine(cellsOf(one)) : `${isFirst ? '' : ','}\n  ${JSON.stringify(one)}`;
      isFirst = false;
    }
  if (format === 'json') yield '\n]\n';
}

function addDecide(records: Command): void {
  records
    .command('decide-return')
    .description(
      'Decide whether an erased record returns when it is sent again. Without a decision, the choice of the workspace counts ' +
        '(`workspaces set --returns`). The next erasure of the record ends the decision.',
    )
    .addArgument(kindArgument('<kind>'))
    .argument('<id>', 'the id that the record was sent with')
    .addArgument(new Argument('<decision>', 'what happens when it is sent again').choices(returnDecisions))
    .requiredOption('--workspace <id>', 'the workspace of the record')
    .requiredOption('--reason <text>', 'the reason, which is kept; do not identify the person concerned')
    .addHelpText(
      'after',
      example(
        "chartledger records decide-return patient patient-1001 allow --workspace clinic --reason 'Erased by mistake'",
      ),
    )
    .action((kind: string, id: string, decision: ReturnDecision, { workspace, reason }: DecideOptions) =>
      withWorkspace(workspace, async ({ eventLog, caller }) => {
        await decideReturn(eventLog, caller, catalogEntry(kind), id, { decision, reason });
        writeLine(
          decision === 'allow'
            ? `The ${kind} returns when it is sent again.`
            : `The ${kind} is refused when it is sent again.`,
        );
      }),
    );
}

/** `chartledger records returned`, `chartledger records decide-return` */
export function addReturnedCommands(records: Command): void {
  const command = records
    .command('returned')
    .description(
      'List the records that were sent again after their erasure: which of them exist again, which are refused or wait for a decision, ' +
        'since when, and by which key. The audit trail records who asked.',
    )
    .requiredOption('--workspace <id>', 'the workspace of the records');
  addFormatOptions(command, formats, 'the output format', 'table')
    .addHelpText(
      'after',
      example('chartledger records returned --workspace clinic --format csv > returned.csv'),
    )
    .action(list);
  addDecide(records);
}
