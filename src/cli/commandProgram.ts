import { Command, Option } from 'commander';
import { terminal } from '../app/terminal.ts';
import { setUpStores } from '../app/withStores.ts';
import { misspeltSettings } from '../misspeltSettings.ts';
import { version } from '../version.ts';

import { addAuditCommand } from './audit/auditCommand.ts';
import { addBackupCommands } from './backup/backupCommands.ts';
import { addCompletionCommand } from './completion/completionCommand.ts';

import { addDemoCommand } from './demo/demoCommand.ts';

import { addDisclosuresCommand } from './disclosures/disclosuresCommand.ts';
import { addDoctorCommand } from './doctor/doctorCommand.ts';
import { addEraseCommand } from './erasure/eraseCommand.ts';
import { addHoldCommands } from './erasure/holdCommands.ts';
import { addRetentionCommand } from './erasure/retentionCommand.ts';
import { addExportCommand } from './exportCommand.ts';
import { addHistoryCommand } from './history/historyCommand.ts';
import { addImportCommand } from './import/importCommand.ts';
import { addKeyCommands } from './keys/keyCommands.ts';
import { addMappingCommands } from './mappings/mappingCommands.ts';
import { addMessageCommands } from './messages/messageCommands.ts';
import { addProjectionCommands } from './projectionCommands.ts';
import { addProveCommands } from './proveCommand.ts';
import { addReadinessCommands } from './readiness/readinessCommands.ts';
import { addRecordsCommands } from './records/recordsCommands.ts';
import { addReferenceCommands } from './reference/referenceCommands.ts';
import { addSecretsCommands } from './secrets/secretsCommands.ts';
import { addServeCommand } from './serveCommand.ts';
import { addSourceCommands } from './sources/sourceCommands.ts';
import { addEventsCommands } from './stream/eventsCommands.ts';
import { addListenCommand } from './stream/listenCommand.ts';
import { addUserCommands } from './userCommands.ts';
import { addVerifyCommand } from './verifyCommand.ts';
import { addWebhookCommands } from './webhookCommands.ts';
import { addWorkspaceCommands } from './workspaceCommands.ts';

function warnOfSettings(): void {
  for (const { name, meant } of misspeltSettings(terminal().env)) {
    terminal().stderr.write(`${name} is not a setting; did you mean ${meant}?\n`);
  }
}

/** Returns all commands, with their usage; their output goes to the terminal returned by `terminal()`. */
export function commandProgram(): Command {
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
  addServeCommand(program);
  addWorkspaceCommands(program);
  addKeyCommands(program);
  addDemoCommand(program);
  addUserCommands(program);
  addProjectionCommands(program);
  addSecretsCommands(program);
  addDoctorCommand(program);
  addBackupCommands(program);
  addImportCommand(program);
  addExportCommand(program);
  addVerifyCommand(program);
  addHistoryCommand(program);
  addAuditCommand(program);
  addDisclosuresCommand(program);
  addEraseCommand(program);
  addHoldCommands(program);
  addRetentionCommand(program);
  addProveCommands(program);
  addWebhookCommands(program);
  addRecordsCommands(program);
  addReadinessCommands(program);
  addReferenceCommands(program);
  addSourceCommands(program);
  addMessageCommands(program);
  addMappingCommands(program);
  addListenCommand(program);
  addEventsCommands(program);
  addCompletionCommand(program);
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
