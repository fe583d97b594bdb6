import { makeScorecard } from '../../../src/modules/readiness/scorecard.ts';
import { openSimulation } from '../../../src/modules/readiness/simulation.ts';
import { openEventLog, openReadModels } from '../../../src/server/openStorage.ts';

import type { Stores } from './chartledger.ts';

/** Resolves with how many seconds a simulation and a scorecard of all encounters take in this process. */
export async function timedAnalyses({
  config,
  key,
}: Stores): Promise<{ simulation: number; scorecard: number }> {
  const { workspace } = key;
  const eventLog = await openEventLog(config.eventLogUrl);
  const readModels = await openReadModels(config.readModelUrl);
  const ports = { eventLog, readModels };
  const candidates = { rules: { policy_number_missing: 'off' } } as const;
  const simulation = await openSimulation(ports, { workspace, candidates });
  const seconds = {
    simulation: await secondsOf(simulation.results(undefined)),
    scorecard: await secondsOf(makeScorecard(ports, workspace, {})),
  };
  await Promise.all([readModels.close(), eventLog.close()]);
  return seconds;
}

async function secondsOf(steps: AsyncIterable<unknown>): Promise<number> {
  const startedAt = performance.now();
  for await (const _ of steps);
  return (performance.now() - startedAt) / 1000;
}
