import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  type ReturnChoice,
  returnChoices,
  type UnchangedChoice,
  unchangedChoices,
} from '../../domain/events/event.ts';
import { type OfficeHours, weekdays } from '../../modules/audit/accessReview.ts';
import {
  type BreakGlassChoice,
  breakGlassChoices,
  type ReasonChoice,
  reasonChoices,
  retentionText,
  type Workspace,
} from '../../modules/auth/apiKeys.ts';
import { eventLogName, retentionSetting, withKeys } from '../../server/stores.ts';
import { example, writeJson, writeLine, writeTable } from '../lib/terminal.ts';

interface JsonOption {
  json?: boolean;
}

function view({ id, state, createdAt, sandbox = false, ...choices }: Workspace) {
  const { retention = 'default', unchanged = 'append', returns = 'allow' } = choices;
  const { breakGlass = 'refuse', organization = null, reason = 'optional' } = choices;
  const { officeHours: office_hours = null } = choices;
  const review = { break_glass: breakGlass, office_hours };
  const choice = { retention, unchanged, ...review, organization, returns, reason };
  return { id, state, sandbox, created_at: createdAt, ...choice };
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
            ['WORKSPACE', 'STATE', 'CREATED', 'RETENTION', 'UNCHANGED', 'BREAK-GLASS', 'RETURNS', 'SANDBOX'],
            found.map((one) => [
              one.id,
              one.state,
              one.created_at,
              retentionText(one.retention, retentionSetting()),
              one.unchanged,
              one.break_glass,
              one.returns,
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
    .description('Set choices of a workspace. Options that are not given keep their values.')
    .argument('<id>', 'the workspace')
    .addOption(
      new Option(
        '--unchanged <choice>',
        'what to do with a write that changes no field: append an event as for any other write, or skip it',
      ).choices(unchangedChoices),
    )
    .addOption(
      new Option(
        '--break-glass <choice>',
        'whether users without the right for a record may open it for 30 minutes with a reason: allow or refuse it',
      ).choices(breakGlassChoices),
    )
    .addOption(
      new Option(
        '--reason <choice>',
        'whether everybody who reads has to say why, people as well as programs with an API key',
      ).choices(reasonChoices),
    )
    .option('--organization <name>', 'the organization that it belongs to, for reports that are handed over')
    .addOption(
      new Option(
        '--returns <choice>',
        'what to do with a write of an erased record: allow it with a warning, refuse it, or refuse it until somebody has reviewed it',
      ).choices(returnChoices),
    )
    .option(
      '--office-hours <hours>',
      'when people work, in the time zone of the workspace, such as 07:00-19:00 or mon-fri 07:00-19:00; none: at any time',
      parseOfficeHours,
    )
    .addHelpText(
      'after',
      example(
        'chartledger workspaces set north_clinic --unchanged skip',
        'chartledger workspaces set north_clinic --break-glass allow',
        'chartledger workspaces set north_clinic --organization "North Clinic, Inc."',
        'chartledger workspaces set north_clinic --returns review',
        "chartledger workspaces set north_clinic --office-hours 'mon-fri 07:00-19:00'",
      ),
    )
    .action(set);
}

interface SetOptions {
  unchanged?: UnchangedChoice;
  breakGlass?: BreakGlassChoice;
  organization?: string;
  returns?: ReturnChoice;
  reason?: ReasonChoice;
  officeHours?: OfficeHours | 'none';
}

const HOURS = /^(?:([a-z]{3})-([a-z]{3}) )?((?:[01]\d|2[0-3]):[0-5]\d)-((?:[01]\d|2[0-3]):[0-5]\d|24:00)$/;

/** Parses office hours for commander. */
function parseOfficeHours(text: string): OfficeHours | 'none' {
  if (text === 'none') return text;
  const [, first = 'sun', last = 'sat', from = '', to = ''] = HOURS.exec(text) ?? [];
  const names: readonly string[] = weekdays;
  const [begin, end] = [names.indexOf(first), names.indexOf(last)];
  if (from >= to || begin === -1 || end === -1)
    throw new InvalidArgumentError('Specify hours such as 07:00-19:00 or mon-fri 07:00-19:00, or none.');
  const isWithin = (day: number) => (begin <= end ? day >= begin && day <= end : day >= begin || day <= end);
  return { from, to, days: weekdays.filter((_, day) => isWithin(day)) };
}

const returnTexts: Record<ReturnChoice, string> = {
  allow: 'return when they are sent again, with a warning',
  refuse: 'are refused when they are sent again',
  review: 'are refused when they are sent again, until somebody decides',
};

async function set(id: string, options: SetOptions, command: Command): Promise<void> {
  const { unchanged, breakGlass, organization, returns, reason, officeHours } = options;
  if (Object.keys(options).length === 0)
    command.error(
      'error: specify what to set: --unchanged, --break-glass, --organization, --returns, --reason or --office-hours',
    );
  await withKeys(async ({ manager }) => {
    if (unchanged !== undefined) {
      await manager.setUnchanged(id, unchanged);
      writeLine(
        unchanged === 'skip'
          ? `Writes to workspace ${id} that change no field are skipped.`
          : `Every write to workspace ${id} appends an event.`,
      );
    }
    if (officeHours !== undefined) {
      await manager.setOfficeHours(id, officeHours === 'none' ? undefined : officeHours);
      writeLine(`The office hours of workspace ${id} are set.`);
    }
    if (breakGlass !== undefined) {
      await manager.setBreakGlass(id, breakGlass);
      writeLine(
        breakGlass === 'allow'
          ? `Users of workspace ${id} without the right for a record may open it with a reason.`
          : `Users of workspace ${id} open no record without the right for it.`,
      );
    }
    if (reason !== undefined) {
      await manager.setReason(id, reason);
      writeLine(
        reason === 'required'
          ? `Reads of workspace ${id} need a reason.`
          : `Reads of workspace ${id} need no reason.`,
      );
    }
    if (organization !== undefined) {
      await manager.setOrganization(id, organization);
      writeLine(`The organization of workspace ${id} is ${organization.trim() || 'not named'}.`);
    }
    if (returns !== undefined) {
      await manager.setReturns(id, returns);
      writeLine(`Erased records of workspace ${id} ${returnTexts[returns]}.`);
    }
  });
}
