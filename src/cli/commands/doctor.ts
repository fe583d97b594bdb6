import type { Command } from 'commander';
import { type Config, loadConfig } from '../../platform/config.ts';
import { misspeltSettings } from '../../platform/settingsSpelling.ts';
import { withEventLog } from '../../server/stores.ts';
import { terminal } from '../../server/terminal.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { example, writeJson, writeLine } from '../lib/terminal.ts';
import {
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
} from './doctorChecks.ts';
import { type CheckResult, ok, runCheck, warn } from './doctorResults.ts';
import {
  checkDeliveries,
  checkHeadsSent,
  checkMllpListener,
  checkPublicUrl,
  checkService,
} from './doctorService.ts';

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
    ...(await runCheck('deliveries', () => checkDeliveries(eventLog, config))),
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
      ...(await runCheck('service', () => checkService(config))),
      ...(await runCheck('public_url', () => checkPublicUrl(config))),
      ...(await runCheck('mllp_ports', () => checkMllpListener(config))),
      ...(await runCheck('event_log', () =>
        withEventLog((eventLog) => examineLog(eventLog, config, withDocuments)),
      )),
      ...(await runCheck('heads', () => checkHeadsSent(config))),
      ...(await runCheck('contents', () => checkContents(config))),
      ...(await runCheck('backups', () => checkBackups(config))),
      ...(await runCheck('permissions', () => checkPermissions(config))),
      ...(await runCheck('disk', () => checkDisk(config))),
    ];
  });
}

/** Exit codes. */
const severity = { ok: 0, warn: 1, fail: 2 };

/** `chartledger doctor` */
export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .description(
      'Check all that can be known from outside the process: whether it answers, its roles, metrics and ' +
        'public address, the settings, the stores and whether they match one another, read models, ' +
        'webhooks, heads, keys, certificates, clock, backups, permissions and disk. Prints one line per ' +
        'check: ok, warn (needs attention) or fail (does not work), with what to do. Changes nothing. Exit ' +
        'code 0: all is well, 1: the worst is a warning, 2: something does not work.',
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
      terminal().exitCode = Math.max(...results.map(({ status }) => severity[status]));
    });
}
