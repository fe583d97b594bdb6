import type { Config } from '../../config.ts';
import type { AnalysisMessage, RunAnalysis } from '../../readiness/analyses.ts';
import { workerUrl } from '../../threads/workerUrl.ts';
import { runTask } from '../tasks/startTask.ts';

/** Runs each analysis in its own thread. */
export function analyseInThread(config: Config): RunAnalysis {
  const url = workerUrl('analysisWorker', import.meta.url);
  return async (task, onMessage, signal) => {
    await runTask(url, { config, task }, signal, (message: AnalysisMessage) => {
      onMessage(message);
      return message.kind === 'done' ? true : undefined;
    });
  };
}
