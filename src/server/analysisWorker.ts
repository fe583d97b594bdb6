import { parentPort, workerData } from 'node:worker_threads';
import type { AnalysisMessage, AnalysisTask } from '../modules/readiness/jobs.ts';
import { makeScorecard } from '../modules/readiness/scorecard.ts';
import { openSimulation } from '../modules/readiness/simulation.ts';
import type { QueryPorts } from '../modules/records/queries/records.ts';
import type { Config } from '../platform/config.ts';
import { lowerThreadPriority } from '../platform/threads/workers.ts';
import { openEventLog, openReadModels } from './openStorage.ts';
import { taskFailure } from './tasks.ts';

if (parentPort === null) throw new Error('analysisWorker runs as a worker thread');
const port = parentPort;
lowerThreadPriority();
const { config, task } = workerData as { config: Config; task: AnalysisTask };

async function* analyse(ports: QueryPorts): AsyncGenerator<AnalysisMessage> {
  if (task.kind === 'simulation') {
    const { question, total, results } = await openSimulation(ports, task.asked);
    for await (const result of results(task.earlier)) {
      yield { kind: 'simulated', total, found: { question, result } };
    }
  } else {
    for await (const progress of makeScorecard(ports, task.workspace, task.days)) {
      yield { kind: 'counted', ...progress };
    }
  }
  yield { kind: 'done' };
}

try {
  const eventLog = await openEventLog(config.eventLogUrl);
  const readModels = await openReadModels(config.readModelUrl);
  for await (const message of analyse({ eventLog, readModels })) port.postMessage(message);
} catch (error) {
  port.postMessage(taskFailure(error));
}
