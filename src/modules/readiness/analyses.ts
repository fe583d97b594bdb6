import { SharedPlaces } from '../../platform/threads/SharedPlaces.ts';
import type { StateStore } from '../../storage/stateStore.ts';
import { Runs } from '../Runs.ts';
import type { ScorecardProgress } from './makeScorecard.ts';
import type { Found, SimulationAsked } from './openSimulation.ts';
import { type ScorecardRun, scorecardTable } from './scorecardRun.ts';
import type { ServiceDays } from './serviceDays.ts';
import { type SimulationRun, simulationTable } from './simulationRun.ts';

/** Simulations and scorecards at once in a process. */
export const MOST_ANALYSES = 1;

/** What to analyse; a simulation continues from what was found earlier. */
export type AnalysisTask =
  | { kind: 'simulation'; asked: SimulationAsked; earlier: Found | undefined }
  | { kind: 'scorecard'; workspace: string; days: ServiceDays };

/** What an analysis reports: its progress, then that it is finished. */
export type AnalysisMessage =
  | { kind: 'simulated'; total: number; found: Found }
  | ({ kind: 'counted' } & ScorecardProgress)
  | { kind: 'done' };

/** Runs an analysis off the request path, until it is finished or the signal. */
export type RunAnalysis = (
  task: AnalysisTask,
  onMessage: (message: AnalysisMessage) => void,
  signal: AbortSignal,
) => Promise<void>;

export interface AnalysisPorts {
  stateStore: StateStore;
  run: RunAnalysis;
  /** Called with the reason when one failed. */
  onFailure(error: Record<string, unknown>): void;
  /** Places for `MOST_ANALYSES`; its own, where no other thread analyses. */
  places?: SharedPlaces | undefined;
}

/** Analyses that go through all encounters of a workspace on demand. */
export interface Analyses {
  simulations: Runs<SimulationRun>;
  scorecards: Runs<ScorecardRun>;
  /** Ends what is under way. */
  close(): Promise<void>;
}

export function openAnalyses({ run, places, ...ports }: AnalysisPorts): Analyses {
  const common = { ...ports, places: places ?? new SharedPlaces(MOST_ANALYSES) };
  const simulations = new Runs<SimulationRun>({
    ...common,
    table: simulationTable,
    title: 'simulation',
    async work({ workspace, candidates, days, found }, reached, signal) {
      const task = { kind: 'simulation', asked: { workspace, candidates, ...days }, earlier: found } as const;
      const onMessage = (message: AnalysisMessage) => {
        if (message.kind === 'simulated') reached({ total: message.total, found: message.found });
      };
      await run(task, onMessage, signal);
      return { outcome: 'done' };
    },
  });
  const scorecards = new Runs<ScorecardRun>({
    ...common,
    table: scorecardTable,
    title: 'scorecard',
    async work({ workspace, days }, reached, signal) {
      const onMessage = (message: AnalysisMessage) => {
        if (message.kind !== 'counted') return;
        const { kind: _kind, ...progress } = message;
        reached(progress);
      };
      await run({ kind: 'scorecard', workspace, days }, onMessage, signal);
      return { outcome: 'done' };
    },
  });
  const close = async () => {
    await Promise.all([simulations.close(), scorecards.close()]);
  };
  return { simulations, scorecards, close };
}
