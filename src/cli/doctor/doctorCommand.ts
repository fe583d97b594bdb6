import type { Command } from 'commander';
import { terminal } from '../../app/terminal.ts';
import { withDocumentStore, withEventLog, withReadModels } from '../../app/withStores.ts';
import { ServiceError } from '../../errors.ts';
import { clockProblem } from '../../health/clockProblem.ts';
import type { Finding } from '../../health/finding.ts';
import { systemClock } from '../../ports/clock.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import { projectionStatus } from '../../reads/projectionStatus.ts';
import { example, FAILED, writeJson, writeLine } from '../output.ts';

/** Looks at one thing, and gives what is the matter with it. Rejects with `ServiceError` when it cannot be looked at. */
type Check = (eventLog: EventLog) => Promise<Finding[]>;

/** Every check, in the order in which what they find is told. */
const checks: readonly Check[] = [
  async (eventLog) => nothing(await eventLog.check()),
  () => withReadModels(async (readModels) => nothing(await readModels.checkpoint('ready'))),
  () => withDocumentStore(async (store) => nothing(await store.check())),
  async (eventLog) => [await clockProblem(eventLog, systemClock)].filter((finding) => finding !== undefined),
  (eventLog) =>
    withReadModels(async (readModels) =>
      (await projectionStatus(eventLog, readModels)).flatMap(parkedFinding),
    ),
];

/** Of a check that only had to get through. */
function nothing(_: unknown): Finding[] {
  return [];
}

function parkedFinding({ model, parked }: { model: string; parked: number }): Finding[] {
  if (parked === 0) return [];
  const message =
    `${model} could not take ${parked} events, whose records are left out of lists. A newer version of the service ` +
    'that can read them takes them up by itself; damaged ones are named by: chartledger verify --workspace ID.';
  return [{ code: 'events_parked', message }];
}

/** What there is to see to; that something could not be looked at is a finding itself. */
async function findings(look: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return [{ code: error.code, message: error.problem ?? error.message }];
  }
}

/** What all checks find. Without the event log there is nothing to compare the other stores with. */
function examine(): Promise<Finding[]> {
  return findings(() =>
    withEventLog(async (eventLog) => {
      const found = [];
      for (const check of checks) found.push(...(await findings(() => check(eventLog))));
      return found;
    }),
  );
}

/** `chartledger doctor` */
export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .description(
      'Open the stores that the settings name, and say what operators should see to, one finding a line. Exit code 0: ' +
        'nothing; 1: something.',
    )
    .option('--json', 'print a JSON array')
    .addHelpText('after', example('chartledger doctor'))
    .action(async ({ json }: { json?: boolean }) => {
      const found = await examine();
      if (json) writeJson(found);
      else for (const { code, message } of found) writeLine(`${code}: ${message}`);
      if (found.length > 0) terminal().exitCode = FAILED;
      else if (!json) writeLine('Nothing to see to.');
    });
}
