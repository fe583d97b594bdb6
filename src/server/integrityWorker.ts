import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import { KeyDirectory } from '../modules/auth/keyDirectory.ts';
import { UserDirectory } from '../modules/auth/users.ts';
import { startOfExport } from '../modules/integrity/export.ts';
import { zipExport } from '../modules/integrity/exportZip.ts';
import { type IntegrityMessage, type IntegrityTask, verifyAgainstHeads } from '../modules/integrity/jobs.ts';
import { PublicKeys } from '../modules/integrity/publicKeys.ts';
import { PrincipalNames } from '../modules/records/queries/principalNames.ts';
import type { Config } from '../platform/config.ts';
import { lowerThreadPriority } from '../platform/threads/workers.ts';
import { openSigningKey } from './keys.ts';
import { openEventLog, openHeadTarget, openReadModels } from './openStorage.ts';
import { taskFailure } from './tasks.ts';

if (parentPort === null) throw new Error('evidenceWorker runs as a worker thread');
const port = parentPort;
lowerThreadPriority();
const { config, task } = workerData as { config: Config; task: IntegrityTask };

function report(message: IntegrityMessage): void {
  port.postMessage(message);
}

async function verify({ workspace, sent, publicKeys }: IntegrityTask & { kind: 'verify' }): Promise<void> {
  const eventLog = await openEventLog(config.eventLogUrl);
  const readModels = await openReadModels(config.readModelUrl);
  const target = config.headsTo === undefined ? undefined : await openHeadTarget(config.headsTo);
  const history = await verifyAgainstHeads(
    { eventLog, readModels },
    workspace,
    { sent, target, publicKeys: publicKeys === undefined ? undefined : PublicKeys.parse(publicKeys) },
    (position, until, events) => report({ kind: 'reached', position, until, events }),
  );
  report({ kind: 'verified', history });
}

async function exportWorkspace(task: IntegrityTask & { kind: 'export' }): Promise<void> {
  const { job, caller, until, isSigned } = task;
  const eventLog = await openEventLog(config.eventLogUrl);
  const names = new PrincipalNames({
    api_key: await KeyDirectory.open(eventLog),
    user: await UserDirectory.open(eventLog),
  });
  const signingKey = isSigned ? () => openSigningKey(eventLog, config) : undefined;
  const context = { eventLog, caller, nameOf: names.nameOf.bind(names), signingKey };
  for await (const chunk of zipExport(context, job, startOfExport(until))) {
    report({ kind: 'bytes', bytes: chunk });
    await once(port, 'message');
  }
  report({ kind: 'exported' });
}

try {
  await (task.kind === 'verify' ? verify(task) : exportWorkspace(task));
} catch (error) {
  port.postMessage(taskFailure(error));
}
