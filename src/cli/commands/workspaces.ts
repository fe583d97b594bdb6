import { type Command, InvalidArgumentError, Option } from 'commander';
import { type UnchangedChoice, unchangedChoices } from '../../domain/events/event.ts';
import { type RetentionChoice, retentionText, type Workspace } from '../../modules/auth/apiKeys.ts';
import { eventLogName, retentionSetting, withKeys } from '../../server/stores.ts';
import { example, writeJson, writeLine, writeTable } from '../lib/terminal.ts';

interface JsonOption {
  json?: boolean;
}

function view({ id, state, createdAt, sandbox = false, ...choices }: Workspace) {
  const { retention = 'default', unchanged = 'append' } = choices;
  return { id, state, sandbox, created_at: createdAt, retention, unchanged };
}

/** `7`, `off`, `default`. */
function parseRetention(text: string): RetentionChoice {
  if (text === 'off' || text === 'default') return text;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Specify a number of years, off, or default.');
}

/** `chartledger workspaces …` */
export function addWorkspaceCommands(workspaces: Command): void {
  workspaces
    .command('create')
    .description('Create a workspace.')
    .argument('<id>', '2 to 40 characters: lowercase letters, digits, underscores')
    .option(
      '--sandbox',
      'for tests: its keys begin with clk_test_, and it can be emptied; this cannot be changed later',
    )
    .option('--json', 'print the workspace as JSON')
    .addHelpText(
      'after',
      example(
        'chartledger workspaces create north_clinic',
        'chartledger workspaces create sandbox --sandbox',
      ),
    )
    .action((id: string, { json, sandbox = false }: JsonOption & { sandbox?: boolean }) =>
      withKeys(async ({ known, manager }) => {
        await manager.createWorkspace(id, { sandbox });
        if (json) writeJson(view(known.workspaces.get(id) as Workspace));
        else
          writeLine(
            `Created ${sandbox ? 'sandbox ' : ''}workspace ${id} in the event log ${eventLogName()}.`,
          );
      }),
    );

  workspaces
    .command('list')
    .description('List all workspaces.')
    .option('--json', 'print a JSON array')
    .addHelpText('after', example('chartledger workspaces list'))
    .action(({ json }: JsonOption) =>
      withKeys(async ({ known }) => {
        const found = [...known.workspaces.values()].map(view);
        if (json) writeJson(found);
        else if (found.length === 0)
          writeLine(`There are no workspaces yet in the event log ${eventLogName()}.`);
        else
          writeTable(
            ['WORKSPACE', 'STATE', 'CREATED', 'RETENTION', 'UNCHANGED', 'SANDBOX'],
            found.map((one) => [
              one.id,
              one.state,
              one.created_at,
              retentionText(one.retention, retentionSetting()),
              one.unchanged,
              one.sandbox ? 'yes' : '-',
            ]),
          );
      }),
    );

  workspaces
    .command('deactivate')
    .description(
      'Refuse the keys of a workspace, and send nothing to its webhooks, until it is activated again.',
    )
    .argument('<id>', 'the workspace')
    .addHelpText('after', example('chartledger workspaces deactivate north_clinic'))
    .action((id: string) =>
      withKeys(async ({ manager }) => {
        await manager.setWorkspaceState(id, 'deactivated');
        writeLine(`Workspace ${id} is deactivated: its keys are refused, its webhooks send nothing.`);
      }),
    );

  workspaces
    .command('activate')
    .description('Accept the keys of a deactivated workspace again.')
    .argument('<id>', 'the workspace')
    .addHelpText('after', example('chartledger workspaces activate north_clinic'))
    .action((id: string) =>
      withKeys(async ({ manager }) => {
        await manager.setWorkspaceState(id, 'active');
        writeLine(`Workspace ${id} is active.`);
      }),
    );

  workspaces
    .command('set')
    .description('Set the defaults of a workspace. Options that are not given keep their values.')
    .argument('<id>', 'the workspace')
    .addOption(
      new Option(
        '--unchanged <choice>',
        'what to do with a write that changes no field: append an event as for any other write, or skip it',
      ).choices(unchangedChoices),
    )
    .option(
      '--retention <years>',
      'how long records are kept: a number of years, off to keep everything, or default for the value of RETENTION_YEARS; ' +
        '`chartledger retention` lists and erases older ones',
      parseRetention,
    )
    .addHelpText(
      'after',
      example(
        'chartledger workspaces set north_clinic --unchanged skip',
        'chartledger workspaces set north_clinic --retention 10',
      ),
    )
    .action(setWorkspace);
}

interface SetOptions {
  unchanged?: UnchangedChoice;
  retention?: RetentionChoice;
}

async function setWorkspace(
  id: string,
  { unchanged, retention }: SetOptions,
  command: Command,
): Promise<void> {
  if (unchanged === undefined && retention === undefined)
    command.error('error: specify what to set: --unchanged, --retention');
  await withKeys(async ({ manager }) => {
    if (unchanged !== undefined) {
      await manager.setUnchanged(id, unchanged);
      writeLine(
        unchanged === 'skip'
          ? `Writes to workspace ${id} that change no field are skipped.`
          : `Every write to workspace ${id} appends an event.`,
      );
    }
    if (retention !== undefined) {
      await manager.setRetention(id, retention);
      writeLine(`Retention of workspace ${id}: ${retentionText(retention, retentionSetting())}.`);
    }
  });
}
