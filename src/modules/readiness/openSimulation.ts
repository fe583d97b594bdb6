import { z } from 'zod';
import type { QueryPorts } from '../records/queries/readRecord.ts';
import { type CandidateSettings, withCandidates } from './candidateSettings.ts';
import { readCounts } from './readCounts.ts';
import { readRuleSettings } from './rules/ruleSettings.ts';
import type { ServiceDays } from './serviceDays.ts';
import { noSimulation, type Simulation, simulate, simulationSchema } from './simulate.ts';
import { totalOf } from './tally.ts';

/** What to simulate. */
export interface SimulationAsked extends ServiceDays {
  workspace: string;
  candidates: CandidateSettings;
}

/** What a simulation has found, and the question that it answers. */
export const foundSchema = z.object({ question: z.string(), result: simulationSchema });
export type Found = z.infer<typeof foundSchema>;

/** A simulation compared with the settings in force. */
export interface OpenSimulation {
  /** Distinguishes it from simulations of something else, or compared with other settings. */
  question: string;
  /** Approximately how many encounters are to be looked at. */
  total: number;
  /** As `simulate`; continues after what was found earlier, where that answers the same question. */
  results(earlier: Found | undefined): AsyncGenerator<Simulation>;
}

/** Rejects with `unreadable` and `unavailable`. */
export async function openSimulation(
  ports: QueryPorts,
  { workspace, candidates, from, to }: SimulationAsked,
): Promise<OpenSimulation> {
  const present = await readRuleSettings(ports.eventLog, workspace);
  const question = JSON.stringify([workspace, candidates, present.version, from, to]);
  const settings = { present, candidate: withCandidates(present, candidates) };
  const counts = await readCounts(ports.readModels, workspace, { from, to });
  return {
    question,
    total: counts ? totalOf(counts) : 0,
    results: (earlier) =>
      simulate(
        ports,
        { workspace, ...settings, from, to },
        earlier?.question === question ? earlier.result : noSimulation,
      ),
  };
}
