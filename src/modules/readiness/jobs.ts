import { z } from 'zod';
import { SharedSemaphore } from '../../platform/threads/semaphore.ts';
import type { StateStore, StateTable } from '../../storage/stateStore.ts';
import { brokenOff, JobRunner, runSchema } from '../jobs.ts';
import { type ScorecardProgress, scorecardSchema } from './scorecard.ts';
import { candidateSettingsSchema, type Found, foundSchema, type SimulationRequest } from './simulation.ts';
import { type ServiceDays, serviceDaysSchema } from './worklistModel.ts';

const scorecardRunSchema = runSchema.extend({
  workspace: z.string(),
  days: serviceDaysSchema,
  /** Encounters looked at so far, and approximately how many there are; both 0 before it begins. */
  encounters: z.int(),
  total: z.int(),
  scorecard: scorecardSchema.optional(),
  outcome: z.enum(['done', ...brokenOff]).optional(),
});

/** The last scorecard of a workspace requested on the dashboard; it may still be under way. */
export type ScorecardRun = z.infer<typeof scorecardRunSchema>;

/** The table of its `JobRunner`. */
export const scorecardTable: StateTable<ScorecardRun> = { name: 'scorecards_v1', body: scorecardRunSchema };

const simulationRunSchema = runSchema.extend({
  workspace: z.string(),
  candidates: candidateSettingsSchema,
  days: serviceDaysSchema,
  /** Approximately how many encounters are to be looked at; 0 before it is known. */
  total: z.int(),
  /** What was found so far. */
  found: foundSchema.optional(),
  outcome: z.enum(['done', ...brokenOff]).optional(),
});

/** The last simulation in a workspace requested on the dashboard; it may still be under way. */
export type SimulationRun = z.infer<typeof simulationRunSchema>;

/** The table of its `JobRunner`. */
export const simulationTable: StateTable<SimulationRun> = {
  name: 'simulations_v1',
  body: simulationRunSchema,
};

/** Simulations and scorecards at once in a process. */
export const MOST_ANALYSES = 1;

/** What to analyse; a simulation continues from what was found earlier. */
export type AnalysisTask =
  | { kind: 'simulation'; asked: SimulationRequest; earlier: Found | undefined }
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

interface AnalysisPorts {
  stateStore: StateStore;
  run: RunAnalysis;
  /** Called with the reason when one failed. */
  onFailure(error: Record<string, unknown>): void;
  /** Places for `MOST_ANALYSES`; its own, where no other thread analyses. */
  places?: SharedSemaphore | undefined;
}

/** Analyses that go through all encounters of a workspace on demand. */
export interface Analyses {
  simulations: JobRunner<SimulationRun>;
  scorecards: JobRunner<ScorecardRun>;
  /** Ends what is under way. */
  close(): Promise<void>;
}

export function openAnalyses({ run, places, ...ports }: AnalysisPorts): Analyses {
  const common = { ...ports, places: places ?? new SharedSemaphore(MOST_ANALYSES) };
  const simulations = new JobRunner<SimulationRun>({
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
  const scorecards = new JobRunner<ScorecardRun>({
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
