import type { AnalysisMessage, RunAnalysis } from '../modules/readiness/analyses.ts';
import type { Config } from '../platform/config.ts';
import { workerUrl } from '../platform/threads/workerUrl.ts';
import { runTask } from './startTask.ts';

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
