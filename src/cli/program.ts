import { Command, CommanderError, Help, Option } from 'commander';
import { ConfigError } from '../platform/config.ts';
import { ServiceError } from '../platform/errors.ts';
import { misspeltSettings } from '../platform/settingsSpelling.ts';
import { version } from '../platform/version.ts';
import { isNameMissing, keepName, stateOperator } from '../server/operator.ts';
import { setUpStores } from '../server/stores.ts';
import { terminal } from '../server/terminal.ts';
import { presentForm } from './formerForms.ts';
import { acceptGuesses, suggestionFor } from './guesses.ts';
import { askAloud, CommandError, FAILED, firstSentence } from './lib/terminal.ts';

/** What adds commands to the program, or to a noun. Its module, and all that it uses, is loaded only when needed. */
type Adder = (parent: Command) => void;

/** Verbs of a noun that one module adds; without `verbs`, all of them. */
interface Module {
  verbs?: readonly string[];
  load(): Promise<Adder>;
}

/** A command of the program: one that does something (`load`), or a noun with its verbs. */
interface Entry {
  name: string;
  /** In the program's help, in one line. */
  summary: string;
  /** Of a noun: more than its summary says. */
  description?: string;
  /** Of a noun. */
  modules?: readonly Module[];
  /** Of a command without verbs, or with verbs below an act of its own. */
  load?(): Promise<Adder>;
}

/** All commands, in the groups and the order of the help. */
export const commandGroups: Readonly<Record<string, readonly Entry[]>> = {
  'Run a service:': [
    {
      name: 'serve',
      summary: 'Run the service',
      load: async () => (await import('./commands/serve.ts')).addServeCommand,
    },
    {
      name: 'doctor',
      summary: 'Check settings, stores, keys, clock, permissions and disk',
      load: async () => (await import('./commands/doctor.ts')).addDoctorCommand,
    },
    {
      name: 'projections',
      summary: 'Show the progress of read models, rebuild them',
      description: 'Projections: each maintains a read model derived from the event log.',
      modules: [{ load: async () => (await import('./commands/projections.ts')).addProjectionCommands }],
    },
    {
      name: 'secrets',
      summary: "Show and rotate the service's own keys",
      modules: [
        { verbs: ['rotate'], load: async () => (await import('./commands/secrets.ts')).addRotateCommands },
        { verbs: ['show'], load: async () => (await import('./commands/verify.ts')).addShowSecretsCommands },
      ],
    },
    {
      name: 'backup',
      summary: 'Back up a service',
      load: async () => (await import('./commands/backup.ts')).addBackupCommand,
    },
    {
      name: 'restore',
      summary: 'Restore a backup',
      load: async () => (await import('./commands/backup.ts')).addRestoreCommand,
    },
    {
      name: 'migrate',
      summary: 'Move a service to stores of other engines',
      load: async () => (await import('./commands/migrate.ts')).addMigrateCommand,
    },
  ],
  'Give access:': [
    {
      name: 'workspaces',
      summary: 'Create, set, empty and delete workspaces',
      description: 'Workspaces: each has its own records and its own keys to access them.',
      modules: [
        {
          verbs: ['create', 'list', 'set', 'deactivate', 'activate'],
          load: async () => (await import('./commands/workspaces.ts')).addWorkspaceCommands,
        },
        { verbs: ['reset'], load: async () => (await import('./commands/erase.ts')).addResetCommand },
        {
          verbs: ['delete'],
          load: async () => (await import('./commands/deleteWorkspace.ts')).addDeleteCommand,
        },
      ],
    },
    {
      name: 'keys',
      summary: 'Create, limit and rotate API keys',
      description:
        'API keys: each belongs to one workspace. A running service picks up every change automatically.',
      modules: [{ load: async () => (await import('./commands/keys.ts')).addKeyCommands }],
    },
    {
      name: 'users',
      summary: 'Invite users of the dashboard, set their roles',
      description: 'Users of the dashboard. A running service picks up every change automatically.',
      modules: [{ load: async () => (await import('./commands/users.ts')).addUserCommands }],
    },
  ],
  'Send and read records:': [
    {
      name: 'demo',
      summary: 'Fill a sandbox with made-up records',
      load: async () => (await import('./commands/demo.ts')).addDemoCommand,
    },
    {
      name: 'import',
      summary: 'Send records from files',
      load: async () => (await import('./commands/import/command.ts')).addImportCommand,
    },
    {
      name: 'watch',
      summary: 'Import the files that are dropped into a folder',
      load: async () => (await import('./commands/watch/command.ts')).addWatchCommand,
    },
    {
      name: 'pull',
      summary: 'Read changes from an EMR and import them',
      description: 'EMRs that do not send: what changed there is read and imported.',
      modules: [{ load: async () => (await import('./commands/pull/command.ts')).addPullCommands }],
    },
    {
      name: 'records',
      summary: 'Read, search, trace, prove, copy and erase records',
      description:
        'The records of a workspace. `get`, `list` and `search` ask a running service; `history`, `prove`, `copy`, ' +
        '`erase`, `returned` and `decide-return` work on its stores.',
      modules: [
        {
          verbs: ['get', 'list', 'search'],
          load: async () => (await import('./commands/records.ts')).addRecordsCommands,
        },
        { verbs: ['history'], load: async () => (await import('./commands/history.ts')).addHistoryCommand },
        { verbs: ['prove'], load: async () => (await import('./commands/prove.ts')).addProveCommand },
        { verbs: ['copy'], load: async () => (await import('./commands/copy.ts')).addCopyCommand },
        { verbs: ['erase'], load: async () => (await import('./commands/erase.ts')).addEraseCommand },
        {
          verbs: ['returned', 'decide-return'],
          load: async () => (await import('./commands/returned.ts')).addReturnedCommands,
        },
      ],
    },
    {
      name: 'mcp',
      summary: 'Run an MCP server, with which assistants read records',
      load: async () => (await import('./commands/mcp/command.ts')).addMcpCommand,
    },
    {
      name: 'changes',
      summary: 'Show what a key, source or request changed',
      load: async () => (await import('./commands/changes.ts')).addChangesCommand,
    },
    {
      name: 'diff',
      summary: 'Show what is different between two moments',
      load: async () => (await import('./commands/diff.ts')).addDiffCommand,
    },
    {
      name: 'undo',
      summary: 'Undo what a key, source or request wrote',
      description: 'Undo writes, and keep what others wrote since. Nothing is removed from the history.',
      modules: [{ load: async () => (await import('./commands/undo.ts')).addUndoCommands }],
    },
    {
      name: 'reconcile',
      summary: 'Compare records with those of another system',
      load: async () => (await import('./commands/reconcile.ts')).addReconcileCommand,
    },
    {
      name: 'readiness',
      summary: 'Set, simulate and measure the rules of readiness for billing',
      description:
        'Rules that decide whether the encounters of a workspace are ready to be billed, and the effect of each.',
      modules: [{ load: async () => (await import('./commands/readiness.ts')).addReadinessCommands }],
    },
    {
      name: 'code-sets',
      summary: 'Load code sets that readiness checks against',
      description: 'Code sets that readiness checks codes against, in all workspaces.',
      modules: [{ load: async () => (await import('./commands/codeSets.ts')).addCodeSetCommands }],
    },
  ],
  'Connect EMRs:': [
    {
      name: 'sources',
      summary: 'Configure EMRs that send FHIR or HL7 v2',
      description:
        'EMRs that send FHIR or HL7 v2 to a workspace, and how their messages are read. A running service picks up every ' +
        'change automatically.',
      modules: [{ load: async () => (await import('./commands/sources.ts')).addSourceCommands }],
    },
    {
      name: 'messages',
      summary: 'Show, correct and resend their messages',
      description: 'The FHIR and HL7 v2 messages that EMRs sent, in their original form, and their outcomes.',
      modules: [{ load: async () => (await import('./commands/messages.ts')).addMessageCommands }],
    },
    {
      name: 'mappings',
      summary: 'Test and apply another configuration of a source',
      description:
        'Compare what another configuration of a source would have made of the messages that it sent.',
      modules: [{ load: async () => (await import('./commands/mappings.ts')).addMappingCommands }],
    },
  ],
  'Send events on:': [
    {
      name: 'webhooks',
      summary: 'Create, watch and replay webhooks',
      description: 'Webhooks: URLs that the events of a workspace are sent to, signed.',
      modules: [{ load: async () => (await import('./commands/webhooks.ts')).addWebhookCommands }],
    },
    {
      name: 'consumers',
      summary: 'Show who gets the events, and how far behind',
      description: 'Readers of the event stream and sinks that name themselves, and webhooks.',
      modules: [{ load: async () => (await import('./commands/consumers.ts')).addConsumerCommands }],
    },
    {
      name: 'events',
      summary: 'Print events as they are recorded',
      description: 'The event stream of a running service.',
      modules: [{ load: async () => (await import('./commands/events.ts')).addEventsCommands }],
    },
    {
      name: 'listen',
      summary: "Forward events to a receiver on a developer's machine",
      load: async () => (await import('./commands/events.ts')).addListenCommand,
    },
    {
      name: 'export',
      summary: 'Export the events of a workspace, with a signed manifest',
      load: async () => (await import('./commands/export.ts')).addExportCommand,
    },
    {
      name: 'deidentification',
      summary: 'Set how the de-identified view is made',
      description: 'The de-identified view of a workspace: ZIP codes and dates in it.',
      modules: [
        { load: async () => (await import('./commands/deidentification.ts')).addDeidentificationCommands },
      ],
    },
    {
      name: 'sink',
      summary: 'Keep tables of a workspace in a warehouse, for SQL',
      description:
        'Warehouses: tables derived from the log of a workspace, kept up to date outside the service.',
      modules: [{ load: async () => (await import('./commands/sink.ts')).addSinkCommands }],
    },
  ],
  'Audit and comply:': [
    {
      name: 'audit',
      summary: 'Show who changed, read or was denied what',
      description: 'The audit trail.',
      modules: [
        { load: async () => (await import('./commands/audit.ts')).addAuditCommands },
        { load: async () => (await import('./commands/accessReport.ts')).addAccessReportCommands },
      ],
    },
    {
      name: 'disclosures',
      summary: "Report who received a patient's data",
      description: 'Reports for patients and auditors (45 CFR 164.528).',
      modules: [{ load: async () => (await import('./commands/disclosures.ts')).addDisclosureCommands }],
    },
    {
      name: 'holds',
      summary: 'Place and release legal holds',
      description:
        'Legal holds: while a hold is in force, nobody can erase what it covers. A hold on a patient also protects its ' +
        'encounters and their documents; a hold on an encounter also protects its patient.',
      modules: [{ load: async () => (await import('./commands/holds.ts')).addHoldCommands }],
    },
    {
      name: 'retention',
      summary: 'Set how long records are kept, list and erase older ones',
      description:
        'Records past the retention period of a workspace: those that nobody changed, and that have no encounter dated, ' +
        'within the period.',
      modules: [{ load: async () => (await import('./commands/retention.ts')).addRetentionCommands }],
    },
    {
      name: 'sign',
      summary: 'Sign a file that is handed over',
      load: async () => (await import('./commands/sign.ts')).addSignCommand,
    },
    {
      name: 'verify',
      summary: 'Check whether the history was changed',
      load: async () => (await import('./commands/verify.ts')).addVerifyCommand,
    },
    {
      name: 'heads',
      summary: 'Prove that one signed head continues another',
      description: 'Signed heads of the hash tree; `verify --save-head` writes one.',
      modules: [{ load: async () => (await import('./commands/prove.ts')).addHeadCommands }],
    },
  ],
  'Use this program:': [
    {
      name: 'completion',
      summary: 'Print a shell completion script',
      load: async () => (await import('./commands/completion.ts')).addCompletionCommand,
    },
  ],
};

function warnOfSettings(): void {
  for (const { name, meant } of misspeltSettings(terminal().env)) {
    terminal().stderr.write(`${name} is not a setting; did you mean ${meant}?\n`);
  }
}

/** Needs to know all others. */
const COMPLETION = 'completion';

/**
 * Resolves with the program and its commands, with their usage; their output goes to the terminal returned by `terminal()`. With the
 * words of a command it has only that one, as loading all takes longer than most commands do; the others are only named.
 */
export async function commandProgram(words?: readonly string[]): Promise<Command> {
  const program: Command = new Command('chartledger')
    .description('Run a Chartledger service, manage it, and send records to it.')
    .version(version)
    .showHelpAfterError('Run the command with --help for its usage and an example.')
    // A command may have its own option `--version`: the program's comes before the command.
    .enablePositionalOptions()
    .configureHelp({
      optionDescription(option) {
        const described = Help.prototype.optionDescription.call(this, option);
        return option.mandatory ? `${described} (required)` : described;
      },
      subcommandTerm(command) {
        return command.parent === program
          ? command.name()
          : Help.prototype.subcommandTerm.call(this, command);
      },
      subcommandDescription: (command) => command.summary() || firstSentence(command.description()),
    })
    .addHelpCommand(
      new Command('help')
        .argument('[command]')
        .summary('Show the help of a command')
        .helpGroup('Use this program:'),
    )
    .addOption(initOption())
    .hook('preAction', async (_program, command) => {
      if (command.optsWithGlobals().init) setUpStores();
      if (!['serve', 'doctor'].includes(command.name())) warnOfSettings();
      await nameOperator(command);
    })
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal().stdout.write(text),
      writeErr: (text) => terminal().stderr.write(text),
    });
  const [name, ...verbs] = words ?? [COMPLETION];
  const isWhole = name === COMPLETION;
  for (const [group, entries] of Object.entries(commandGroups)) {
    for (const entry of entries) {
      if (isWhole || entry.name === name) await addEntry(program, entry, isWhole ? undefined : verbs[0]);
      else addNoun(program, entry);
      program.commands.at(-1)?.summary(entry.summary).helpGroup(group);
    }
  }
  acceptInit(program.commands);
  acceptOperator(program.commands);
  return program;
}

/** Adds a command; of a noun, the module with this verb, or all of them where none has it. */
async function addEntry(program: Command, entry: Entry, verb = ''): Promise<void> {
  const { modules = [], load } = entry;
  if (load) return (await load())(program);
  const noun = addNoun(program, entry);
  const named = modules.filter(({ verbs }) => verbs?.includes(verb) ?? true);
  for (const { load } of named.length > 0 ? named : modules) (await load())(noun);
}

/** Adds a command by its name only. */
function addNoun(program: Command, { name, summary, description }: Entry): Command {
  return program.command(name).description(description ?? `${summary}.`);
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

/** Allows commands on the data of a workspace to say who runs them, and why. */
function acceptOperator(commands: readonly Command[]): void {
  for (const command of commands) {
    const has = (long: string) => command.options.some((option) => option.long === long);
    if (has('--workspace') || has('--url')) {
      command.addOption(new Option('--as <name>', 'the person who runs the command').hideHelp());
      if (!has('--reason')) command.addOption(new Option('--reason <text>', 'why').hideHelp());
    }
    acceptOperator(command.commands);
  }
}

/** Notes who runs a command, and why. Asks for the name of a shared account once, at a terminal, and keeps it. */
async function nameOperator(command: Command): Promise<void> {
  const { as: name, reason, purposeStatement } = command.opts();
  const why = typeof reason === 'string' ? reason : purposeStatement;
  stateOperator({ name, reason: why });
  const isOnData = command.options.some(({ long }) => long === '--as');
  if (!isOnData || !isNameMissing() || !terminal().stdin.isTTY) return;
  const answer = (await askAloud('Your name, for the audit trail: ')).trim();
  if (answer === '') return;
  stateOperator({ name: answer, reason: why });
  const file = keepName(answer);
  if (file !== undefined) terminal().stderr.write(`The name is kept in ${file}.\n`);
}

/** The commands that have verbs. */
const nouns = Object.values(commandGroups).flatMap((entries) =>
  entries.flatMap(({ name, modules }) => (modules === undefined ? [] : [name])),
);

const WRONG_USAGE = 2;

/** Prints what went wrong, without a stack, and returns the exit code. Commander has already printed its errors. */
function report(error: unknown, program: Command): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
  if (error instanceof ServiceError && error.code === 'reason_required') {
    terminal().stderr.write(`error: ${error.message}\n`);
    return WRONG_USAGE;
  }
  const refused = refusedOptions(error, optionsIn(program));
  if (refused.length > 0) {
    for (const line of refused) terminal().stderr.write(`error: ${line}\n`);
    return WRONG_USAGE;
  }
  const problem = error instanceof ServiceError ? error.problem : undefined;
  const message = problem ?? (error instanceof Error ? error.message : String(error));
  const expected = [ServiceError, ConfigError, CommandError].some((type) => error instanceof type);
  terminal().stderr.write(expected ? `${message}\n` : `Chartledger failed unexpectedly: ${message}\n`);
  return FAILED;
}

/** Returns the options of all commands, as `--recipient-address`. */
function optionsIn(command: Command): (string | undefined)[] {
  return [...command.options.map(({ long }) => long), ...command.commands.flatMap(optionsIn)];
}

/**
 * Returns what is wrong with the values of options, if nothing else is: services name fields, `recipient_address`. A message that is
 * the error's is a sentence for itself.
 */
function refusedOptions(error: unknown, options: readonly (string | undefined)[]): string[] {
  if (!(error instanceof ServiceError) || error.code !== 'validation_failed') return [];
  const named = (error.details ?? []).map(({ field, message }) => ({
    option: `--${field.replace(/\.\d+$/, '').replace(/[._]/g, '-')}`,
    message,
  }));
  return named.every(({ option, message }) => options.includes(option) && message !== error.message)
    ? named.map(({ option, message }) => `${option} ${message}`)
    : [];
}

/**
 * Runs a command with the arguments after `chartledger`, on the terminal returned by `terminal()`. Never rejects: the result is
 * the terminal's exit code (0; 1 for a failure; 2 for wrong usage), and the reason is on standard error.
 */
export async function runCommand(args: readonly string[]): Promise<void> {
  const { words: present, note } = presentForm(args);
  if (note !== undefined) terminal().stderr.write(`${note}\n`);
  const words = acceptGuesses(present, nouns);
  // The program's own options take no values.
  const named = words.filter((word) => !word.startsWith('-'));
  const program = await commandProgram(named[0] === 'help' ? named.slice(1) : named);
  const suggestion = suggestionFor(named, program);
  // The parser would suggest what is spelled alike.
  if (suggestion) for (const one of [program, ...program.commands]) one.showSuggestionAfterError(false);
  try {
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    terminal().exitCode = report(error, program);
    if (suggestion && terminal().exitCode === WRONG_USAGE)
      terminal().stderr.write(`Did you mean: chartledger ${suggestion}\n`);
  }
}
