import type { Command } from 'commander';
import { type Config, loadConfig } from '../../platform/config.ts';
import { misspeltSettings } from '../../platform/settingsSpelling.ts';
import { withEventLog } from '../../server/stores.ts';
import { terminal } from '../../server/terminal.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { example, FAILED, writeJson, writeLine } from '../lib/terminal.ts';
import {
  type CheckResult,
  checkBackups,
  checkClock,
  checkContents,
  checkDisk,
  checkDocumentBytes,
  checkDocuments,
  checkErasures,
  checkEventLog,
  checkHeads,
  checkKeys,
  checkMllp,
  checkPermissions,
  checkReadModels,
  checkStateStore,
  checkWebhooks,
  ok,
  runCheck,
  warn,
} from './doctorChecks.ts';

function checkSettings(): CheckResult[] {
  const misspelt = misspeltSettings(terminal().env);
  if (misspelt.length === 0) return [ok('settings', 'every one is valid')];
  return misspelt.map(({ name, meant }) =>
    warn('settings', 'misspelt', `${name} is not a setting; did you mean ${meant}?`),
  );
}

/** Runs the checks that need the event log: without it there is nothing to compare the other stores with. */
async function examineLog(
  eventLog: EventLog,
  config: Config,
  withDocuments: boolean,
): Promise<CheckResult[]> {
  return [
    ...(await runCheck('event_log', () => checkEventLog(eventLog))),
    ...(await runCheck('read_models', () => checkReadModels(eventLog, config))),
    ...(await runCheck('document_store', () => checkDocuments(eventLog, config))),
    ...(withDocuments ? await runCheck('documents', () => checkDocumentBytes(eventLog, config)) : []),
    ...(await runCheck('keys', () => checkKeys(eventLog, config))),
    ...(await runCheck('webhooks', () => checkWebhooks(eventLog, config))),
    ...(await runCheck('heads', () => checkHeads(eventLog, config))),
    ...(await runCheck('erasures', () => checkErasures(eventLog, config))),
    ...(await runCheck('mllp', () => checkMllp(eventLog, config))),
    ...(await runCheck('clock', () => checkClock(eventLog))),
    ...(await runCheck('state_store', () => checkStateStore(eventLog, config))),
  ];
}

/**
 * Returns the results of all checks, in the order in which they are reported. With invalid settings there is nothing else to
 * check.
 */
function examine(withDocuments: boolean): Promise<CheckResult[]> {
  return runCheck('settings', async () => {
    const config = loadConfig(terminal().env);
    return [
      ...checkSettings(),
      ...(await runCheck('event_log', () =>
        withEventLog((eventLog) => examineLog(eventLog, config, withDocuments)),
      )),
      ...(await runCheck('contents', () => checkContents(config))),
      ...(await runCheck('backups', () => checkBackups(config))),
      ...(await runCheck('permissions', () => checkPermissions(config))),
      ...(await runCheck('disk', () => checkDisk(config))),
    ];
  });
}

/** `chartledger doctor` */
export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .description(
      'Check the settings, the stores and whether they match one another, keys, clock, permissions and ' +
        'disk, whether or not the service is running. Prints one line per check: ok, warn (needs ' +
        'attention) or fail (does not work), with what to do. Changes nothing. Exit code 1: a check ' +
        'failed.',
    )
    .option(
      '--documents',
      'also check that the bytes of every document exist; reads the log from its beginning',
    )
    .option('--json', 'print a JSON array')
    .addHelpText('after', example('chartledger doctor', 'chartledger doctor --documents'))
    .action(async ({ documents = false, json }: { documents?: boolean; json?: boolean }) => {
      const results = await examine(documents);
      if (json) writeJson(results);
      else
        for (const { check, status, message } of results)
          writeLine(`${status.padEnd(4)}  ${check}: ${message}`);
      if (results.some(({ status }) => status === 'fail')) terminal().exitCode = FAILED;
    });
}
