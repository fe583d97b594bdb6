import { z } from 'zod';
import type { QueryPorts } from '../../reads/readRecord.ts';
import { readCounts } from '../counts/readCounts.ts';
import { totalOf } from '../counts/tally.ts';
import { readRuleSettings } from '../ruleSettings.ts';
import type { ServiceDays } from '../worklist/serviceDays.ts';
import { type CandidateSettings, withCandidates } from './candidateSettings.ts';
import { noSimulation, type Simulation, simulate, simulationSchema } from './simulate.ts';

/** What is to be simulated. */
export interface SimulationAsked extends ServiceDays {
  workspace: string;
  candidates: CandidateSettings;
}

/** What a simulation has found, and the question to which it is an answer. */
export const foundSchema = z.object({ question: z.string(), result: simulationSchema });
export type Found = z.infer<typeof foundSchema>;

/** A simulation beside the settings that are in force. */
export interface OpenSimulation {
  /** Tells it from those of something else, or beside other settings. */
  question: string;
  /** How many encounters are to be looked at, about. */
  total: number;
  /** As `simulate`; it goes on behind what was found earlier, where that is of the same question. */
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
