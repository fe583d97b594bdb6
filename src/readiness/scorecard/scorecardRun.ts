import { z } from 'zod';
import type { StateTable } from '../../ports/stateStore.ts';
import { brokenOff, runSchema } from '../../runs/run.ts';
import { serviceDaysSchema } from '../worklist/serviceDays.ts';
import { scorecardSchema } from './scorecard.ts';

const scorecardRunSchema = runSchema.extend({
  workspace: z.string(),
  days: serviceDaysSchema,
  /** Encounters that were looked at, and how many there are, about; both 0 before it begins. */
  encounters: z.int(),
  total: z.int(),
  scorecard: scorecardSchema.optional(),
  outcome: z.enum(['done', ...brokenOff]).optional(),
});

/** The last scorecard of a workspace that somebody asked for on the dashboard; it may be under way. */
export type ScorecardRun = z.infer<typeof scorecardRunSchema>;

/** Of `Runs`. */
export const scorecardTable: StateTable<ScorecardRun> = { name: 'scorecards_v1', body: scorecardRunSchema };
