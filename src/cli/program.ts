import { Command, CommanderError, Option } from 'commander';
import { ConfigError } from '../platform/config.ts';
import { ServiceError } from '../platform/errors.ts';
import { misspeltSettings } from '../platform/settingsSpelling.ts';
import { version } from '../platform/version.ts';
import { setUpStores } from '../server/stores.ts';
import { terminal } from '../server/terminal.ts';
import { CommandError, FAILED } from './lib/terminal.ts';

/** Commands that one module adds to the program. */
interface Family {
  names: readonly string[];
  load(): Promise<(program: Command) => void>;
}

/** All commands by name, in the order of the help. Their modules, and all that these use, are loaded only when needed. */
export const commandGroups: readonly Family[] = [
  { names: ['serve'], load: async () => (await import('./commands/serve.ts')).addServeCommand },
  {
    names: ['workspaces'],
    load: async () => (await import('./commands/workspaces.ts')).addWorkspaceCommands,
  },
  { names: ['keys'], load: async () => (await import('./commands/keys.ts')).addKeyCommands },
  { names: ['demo'], load: async () => (await import('./commands/demo.ts')).addDemoCommand },
  { names: ['users'], load: async () => (await import('./commands/users.ts')).addUserCommands },
  {
    names: ['projections'],
    load: async () => (await import('./commands/projections.ts')).addProjectionCommands,
  },
  {
    names: ['secrets'],
    load: async () => (await import('./commands/secrets.ts')).addSecretsCommands,
  },
  { names: ['doctor'], load: async () => (await import('./commands/doctor.ts')).addDoctorCommand },
  {
    names: ['backup', 'restore'],
    load: async () => (await import('./commands/backup.ts')).addBackupCommands,
  },
  {
    names: ['import'],
    load: async () => (await import('./commands/import/command.ts')).addImportCommand,
  },
  { names: ['export'], load: async () => (await import('./commands/export.ts')).addExportCommand },
  {
    names: ['verify', 'signing-key'],
    load: async () => (await import('./commands/verify.ts')).addVerifyCommand,
  },
  { names: ['history'], load: async () => (await import('./commands/history.ts')).addHistoryCommand },
  { names: ['audit'], load: async () => (await import('./commands/audit.ts')).addAuditCommand },
  {
    names: ['disclosures'],
    load: async () => (await import('./commands/disclosures.ts')).addDisclosuresCommand,
  },
  { names: ['erase'], load: async () => (await import('./commands/erase.ts')).addEraseCommand },
  { names: ['hold'], load: async () => (await import('./commands/holds.ts')).addHoldCommands },
  {
    names: ['retention'],
    load: async () => (await import('./commands/retention.ts')).addRetentionCommand,
  },
  {
    names: ['prove', 'prove-consistency'],
    load: async () => (await import('./commands/prove.ts')).addProveCommands,
  },
  {
    names: ['webhooks'],
    load: async () => (await import('./commands/webhooks.ts')).addWebhookCommands,
  },
  {
    names: ['records'],
    load: async () => (await import('./commands/records.ts')).addRecordsCommands,
  },
  {
    names: ['readiness'],
    load: async () => (await import('./commands/readiness.ts')).addReadinessCommands,
  },
  {
    names: ['reference'],
    load: async () => (await import('./commands/reference.ts')).addReferenceCommands,
  },
  { names: ['sources'], load: async () => (await import('./commands/sources.ts')).addSourceCommands },
  {
    names: ['messages'],
    load: async () => (await import('./commands/messages.ts')).addMessageCommands,
  },
  {
    names: ['mappings'],
    load: async () => (await import('./commands/mappings.ts')).addMappingCommands,
  },
  { names: ['listen'], load: async () => (await import('./commands/events.ts')).addListenCommand },
  { names: ['events'], load: async () => (await import('./commands/events.ts')).addEventsCommands },
  {
    names: ['completion'],
    load: async () => (await import('./commands/completion.ts')).addCompletionCommand,
  },
];

function warnOfSettings(): void {
  for (const { name, meant } of misspeltSettings(terminal().env)) {
    terminal().stderr.write(`${name} is not a setting; did you mean ${meant}?\n`);
  }
}

/** Needs to know all others. */
const COMPLETION = 'completion';

/**
 * Resolves with the program and its commands, with their usage; their output goes to the terminal returned by `terminal()`. With the
 * name of a command it has only that one, and those of its family: to load all takes longer than most commands do.
 */
export async function commandProgram(command?: string): Promise<Command> {
  const program = new Command('chartledger')
    .description('Run a Chartledger service, manage it, and send records to it.')
    .version(version)
    .showHelpAfterError('Run the command with --help for its usage and an example.')
    // A command may have its own option `--version`: the program's comes before the command.
    .enablePositionalOptions()
    .addOption(initOption())
    .hook('preAction', (_program, command) => {
      if (command.optsWithGlobals().init) setUpStores();
      if (!['serve', 'doctor'].includes(command.name())) warnOfSettings();
    })
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal().stdout.write(text),
      writeErr: (text) => terminal().stderr.write(text),
    });
  for (const add of await Promise.all(familiesOf(command).map(({ load }) => load()))) add(program);
  acceptInit(program.commands);
  return program;
}

function initOption(): Option {
  return new Option('--init', 'create the stores that the settings name if they do not exist');
}

/** Allows the program's option after a command, too. */
function acceptInit(commands: readonly Command[]): void {
  for (const command of commands) {
    if (command.commands.length === 0) command.addOption(initOption().hideHelp());
    acceptInit(command.commands);
  }
}

function familiesOf(command: string | undefined): typeof commandGroups {
  if (command === undefined || command === COMPLETION) return commandGroups;
  const own = commandGroups.filter(({ names }) => names.includes(command));
  return own.length > 0 ? own : commandGroups;
}

const WRONG_USAGE = 2;

/** Prints what went wrong, without a stack, and returns the exit code. Commander has already printed its errors. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
  const problem = error instanceof ServiceError ? error.problem : undefined;
  const message = problem ?? (error instanceof Error ? error.message : String(error));
  const expected = [ServiceError, ConfigError, CommandError].some((type) => error instanceof type);
  terminal().stderr.write(expected ? `${message}\n` : `Chartledger failed unexpectedly: ${message}\n`);
  return FAILED;
}

/**
 * Runs a command with the arguments after `chartledger`, on the terminal returned by `terminal()`. Never rejects: the result is
 * the terminal's exit code (0; 1 for a failure; 2 for wrong usage), and the reason is on standard error.
 */
export async function runCommand(args: readonly string[]): Promise<void> {
  try {
    // The program's own options take no values.
    const program = await commandProgram(args.find((arg) => !arg.startsWith('-')));
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    terminal().exitCode = report(error);
  }
}
