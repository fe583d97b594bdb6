import { z } from 'zod';
import type { StateTable } from '../../storage/stateStore.ts';
import { brokenOff, runSchema } from '../run.ts';
import { candidateSettingsSchema } from './candidateSettings.ts';
import { foundSchema } from './openSimulation.ts';
import { serviceDaysSchema } from './serviceDays.ts';

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

/** The table of its `Runs`. */
export const simulationTable: StateTable<SimulationRun> = {
  name: 'simulations_v1',
  body: simulationRunSchema,
};
