import { Command, CommanderError } from 'commander';
import { terminal } from '../app/terminal.ts';
import { setUpStores } from '../app/withStores.ts';
import { ConfigError } from '../config.ts';
import { ServiceError } from '../errors.ts';
import { misspeltSettings } from '../misspeltSettings.ts';
import { version } from '../version.ts';
import { addDoctorCommand } from './doctorCommand.ts';
import { addExportCommand } from './exportCommand.ts';
import { addHistoryCommand } from './historyCommand.ts';
import { ImportError } from './import/importSource.ts';
import { addImportCommand } from './importCommand.ts';
import { addKeyCommands } from './keyCommands.ts';
import { FAILED } from './output.ts';
import { addProjectionCommands } from './projectionCommands.ts';
import { addServeCommand } from './serveCommand.ts';
import { addUserCommands } from './userCommands.ts';
import { addVerifyCommand } from './verifyCommand.ts';
import { addWebhookCommands } from './webhookCommands.ts';
import { addWorkspaceCommands } from './workspaceCommands.ts';

const WRONG_USAGE = 2;

/** Says what went wrong, without a stack, and gives the exit code. Commander has said its part already. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
  const problem = error instanceof ServiceError ? error.problem : undefined;
  const message = problem ?? (error instanceof Error ? error.message : String(error));
  const expected = [ServiceError, ConfigError, ImportError].some((type) => error instanceof type);
  terminal().stderr.write(expected ? `${message}\n` : `Chartledger failed unexpectedly: ${message}\n`);
  return FAILED;
}

function warnOfSettings(): void {
  for (const { name, meant } of misspeltSettings(terminal().env)) {
    terminal().stderr.write(`${name} is no setting; is ${meant} meant?\n`);
  }
}

/**
 * Runs a command with the arguments behind `chartledger`, on the terminal that `terminal()` gives. Never rejects: how it
 * ended is the terminal's exit code (0; 1 where it failed; 2 for wrong usage), and why is on standard error.
 */
export async function runCommand(args: readonly string[]): Promise<void> {
  const program = new Command('chartledger')
    .description('Runs a Chartledger service, manages it and sends records to it.')
    .version(version)
    .showHelpAfterError('Run the command with --help for its usage and an example.')
    .option('--init', 'make the stores that the settings name where there are none')
    .hook('preAction', (_program, command) => {
      if (program.opts().init) setUpStores();
      if (command.name() !== 'serve') warnOfSettings();
    })
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal().stdout.write(text),
      writeErr: (text) => terminal().stderr.write(text),
    });
  addServeCommand(program);
  addWorkspaceCommands(program);
  addKeyCommands(program);
  addUserCommands(program);
  addProjectionCommands(program);
  addDoctorCommand(program);
  addImportCommand(program);
  addExportCommand(program);
  addVerifyCommand(program);
  addHistoryCommand(program);
  addWebhookCommands(program);
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    terminal().exitCode = report(error);
  }
}
