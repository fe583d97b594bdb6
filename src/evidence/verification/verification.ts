import { z } from 'zod';
import type { StateTable } from '../../ports/stateStore.ts';
import { brokenOff, principalSchema, runSchema } from '../../runs/run.ts';
import { treeHeadSchema } from '../treeHead.ts';

const toldErasureSchema = z.object({
  stream: z.string(),
  versions: z.number(),
  reason: z.string(),
  principal: principalSchema,
  erased_at: z.string(),
});

/** What a verification found out. */
const findingsSchema = z.object({
  /** Events that were verified, and how many of them against the read model. */
  events: z.number(),
  compared: z.number(),
  /** Heads against which the log was held. */
  heads: z.number(),
  /** What does not hold, a line each. */
  problems: z.array(z.string()),
  remarks: z.array(z.string()),
  erased: z.object({
    /** Events. */
    count: z.number(),
    erasures: z.number(),
    /** The last of them. */
    told: z.array(toldErasureSchema),
  }),
});

/** How a verification ended: `nothing_compared` where there was neither a tree nor a head to hold the log against. */
export const outcomes = ['holds', 'does_not_hold', 'nothing_compared', ...brokenOff] as const;

const verificationSchema = runSchema.extend({
  workspace: z.string(),
  /** How far into the log it is, and where it will end; both 0 before it begins to read. */
  position: z.number(),
  until: z.number(),
  /** Events that held. */
  events: z.number(),
  /** There once it has ended. */
  outcome: z.enum(outcomes).optional(),
  /** Where it came to an end by itself. */
  findings: findingsSchema.optional(),
  /** Where all holds, and the process has the key. */
  head: treeHeadSchema.optional(),
});

export type VerificationFindings = z.infer<typeof findingsSchema>;
export type VerificationOutcome = (typeof outcomes)[number];

/** The last verification of a workspace's history that somebody asked for on the dashboard; it may be under way. */
export type Verification = z.infer<typeof verificationSchema>;

/** Of `Runs`. */
export const verificationTable: StateTable<Verification> = {
  name: 'verifications_v1',
  body: verificationSchema,
};
