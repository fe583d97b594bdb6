import { Command, Option } from 'commander';
import { misspeltSettings } from '../platform/misspeltSettings.ts';
import { version } from '../platform/version.ts';
import { terminal } from '../server/terminal.ts';
import { setUpStores } from '../server/withStores.ts';
import { families } from './families.ts';

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
  takeInit(program.commands);
  return program;
}

function initOption(): Option {
  return new Option('--init', 'create the stores that the settings name if they do not exist');
}

/** Allows the program's option after a command, too. */
function takeInit(commands: readonly Command[]): void {
  for (const command of commands) {
    if (command.commands.length === 0) command.addOption(initOption().hideHelp());
    takeInit(command.commands);
  }
}

function familiesOf(command: string | undefined): typeof families {
  if (command === undefined || command === COMPLETION) return families;
  const own = families.filter(({ names }) => names.includes(command));
  return own.length > 0 ? own : families;
}
