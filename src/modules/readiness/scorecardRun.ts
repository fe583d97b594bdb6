import { z } from 'zod';
import type { StateTable } from '../../storage/stateStore.ts';
import { brokenOff, runSchema } from '../run.ts';
import { scorecardSchema } from './scorecard.ts';
import { serviceDaysSchema } from './serviceDays.ts';

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

/** The table of its `Runs`. */
export const scorecardTable: StateTable<ScorecardRun> = { name: 'scorecards_v1', body: scorecardRunSchema };
