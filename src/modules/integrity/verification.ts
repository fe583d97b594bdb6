import { z } from 'zod';
import type { StateTable } from '../../storage/stateStore.ts';
import { brokenOff, principalSchema, runSchema } from '../run.ts';
import { treeHeadSchema } from './treeHead.ts';

const toldErasureSchema = z.object({
  stream: z.string(),
  versions: z.number(),
  reason: z.string(),
  principal: principalSchema,
  erased_at: z.string(),
});

/** The findings of a verification. */
const findingsSchema = z.object({
  /** Number of events verified, and of those compared with the read model. */
  events: z.number(),
  compared: z.number(),
  /** Number of heads with which the log was compared. */
  heads: z.number(),
  /** What does not hold, a line each. */
  problems: z.array(z.string()),
  remarks: z.array(z.string()),
  erased: z.object({
    /** Number of events. */
    count: z.number(),
    erasures: z.number(),
    /** The last of them. */
    told: z.array(toldErasureSchema),
  }),
});

/** The outcome of a verification: `nothing_compared` when there was neither a tree nor a head to compare the log with. */
export const outcomes = ['holds', 'does_not_hold', 'nothing_compared', ...brokenOff] as const;

const verificationSchema = runSchema.extend({
  workspace: z.string(),
  /** Its position in the log, and where it will end; both 0 before it starts reading. */
  position: z.number(),
  until: z.number(),
  /** Number of events that held. */
  events: z.number(),
  /** Present once it has ended. */
  outcome: z.enum(outcomes).optional(),
  /** Present if it ran to completion. */
  findings: findingsSchema.optional(),
  /** Present if everything holds, and the process has the key. */
  head: treeHeadSchema.optional(),
});

export type VerificationFindings = z.infer<typeof findingsSchema>;
export type VerificationOutcome = (typeof outcomes)[number];

/** The last verification of a workspace's history requested on the dashboard; it may be under way. */
export type Verification = z.infer<typeof verificationSchema>;

/** For `Runs`. */
export const verificationTable: StateTable<Verification> = {
  name: 'verifications_v1',
  body: verificationSchema,
};
