import type { Command } from 'commander';
import { catalogEntry } from '../../domain/records/catalog.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { type Hold, type HoldStep, readHolds } from '../../modules/erasure/holdState.ts';
import { addHold, releaseHold } from '../../modules/erasure/holds.ts';
import { withWorkspace } from '../../server/stores.ts';
import { kindArgument } from '../lib/options.ts';
import { example, writeJson, writeLine, writeTable } from '../lib/terminal.ts';

interface ChangeOptions {
  workspace: string;
  reason: string;
  json?: boolean;
}

interface ListOptions {
  workspace: string;
  all?: boolean;
  json?: boolean;
}

/** `chartledger holds …` */
export function addHoldCommands(holds: Command): void {
  addCreate(holds);
  holds
    .command('list')
    .description('List the legal holds that are in force.')
    .requiredOption('--workspace <id>', 'the workspace of the holds')
    .option('--all', 'include released holds')
    .option('--json', 'print a JSON array')
    .addHelpText('after', example('chartledger holds list --workspace clinic'))
    .action(list);
  holds
    .command('release')
    .description('Release a legal hold. Whatever no other hold covers can be erased again.')
    .argument('<hold-id>', 'the id of the hold, as listed')
    .requiredOption('--workspace <id>', 'the workspace of the hold')
    .requiredOption('--reason <text>', 'the reason, which is kept; do not identify the person concerned')
    .addHelpText(
      'after',
      example(
        "chartledger holds release hold_4fTq9LmZs2Xw8RbC --workspace clinic --reason 'Case 2031-17 closed'",
      ),
    )
    .action((id: string, { workspace, reason }: ChangeOptions) =>
      withWorkspace(workspace, async ({ eventLog, caller }) => {
        await releaseHold(eventLog, caller, id, reason);
        writeLine(`Hold ${id} is released.`);
      }),
    );
}

function addCreate(holds: Command): void {
  holds
    .command('create')
    .description('Put a record under legal hold, or the whole workspace if no record is given.')
    .addArgument(kindArgument('[kind]'))
    .argument('[id]', 'the id that the record was sent with')
    .requiredOption('--workspace <id>', 'the workspace to hold, or the workspace of the record')
    .requiredOption('--reason <text>', 'the reason, which is kept; do not identify the person concerned')
    .option('--json', 'print the hold as JSON')
    .addHelpText(
      'after',
      example(
        "chartledger holds create patient patient-1001 --workspace clinic --reason 'Case 2031-17'",
        "chartledger holds create --workspace clinic --reason 'Case 2031-17'",
      ),
    )
    .action(create);
}

async function create(
  kind: string | undefined,
  id: string | undefined,
  { workspace, reason, json }: ChangeOptions,
  command: Command,
): Promise<void> {
  if (kind !== undefined && id === undefined) {
    command.error('error: specify the id of the record, or neither kind nor id');
  }
  const record = kind === undefined || id === undefined ? undefined : { entry: catalogEntry(kind), id };
  await withWorkspace(workspace, async ({ eventLog, caller }) => {
    const holdId = await addHold(eventLog, caller, record, reason);
    if (json) {
      writeJson(viewOf((await readHolds(eventLog, workspace)).holds.get(holdId) as Hold));
      return;
    }
    const what = record ? `The ${record.entry.kind}` : `Workspace ${workspace}`;
    writeLine(`${what} is under legal hold ${holdId}: nothing of it is erased.`);
  });
}

async function list({ workspace, all = false, json }: ListOptions): Promise<void> {
  await withWorkspace(workspace, async ({ eventLog, caller, names }) => {
    const { holds } = await readHolds(eventLog, workspace);
    const found = [...holds.values()].filter(({ released }) => all || released === undefined);
    await recordAccess(eventLog, caller, { action: 'hold.list', query: { all } });
    await names.learn(found.flatMap(({ added, released }) => [added, released ?? added]).map(({ by }) => by));
    if (json) {
      writeJson(found.map(viewOf));
      return;
    }
    if (found.length === 0) {
      writeLine(all ? 'There never was a legal hold.' : 'No legal hold is in force.');
      return;
    }
    const told = ({ by, reason }: HoldStep) => `${names.nameOf(by) ?? by.id}: ${reason}`;
    writeTable(
      ['HOLD', 'ON', 'SINCE', 'BY, AND WHY', ...(all ? ['RELEASED', 'BY, AND WHY'] : [])],
      found.map(({ id, record, added, released }) => [
        id,
        record ? `${record.kind} ${record.id}` : 'the workspace',
        added.at,
        told(added),
        ...(all ? [released?.at ?? '-', released ? told(released) : '-'] : []),
      ]),
    );
  });
}

function viewOf({ id, record, added, released }: Hold) {
  const step = ({ at, by: principal, reason }: HoldStep) => ({ at, principal, reason });
  return {
    id,
    kind: record?.kind ?? null,
    record_id: record?.id ?? null,
    added: step(added),
    released: released ? step(released) : null,
  };
}
