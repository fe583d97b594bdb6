import { z } from 'zod';
import { type Principal, principalTypes } from '../domain/events/eventMetadata.ts';

/** Who did something, as kept in state rows. */
export const principalSchema: z.ZodType<Principal> = z.object({
  type: z.enum(principalTypes),
  id: z.string(),
});

/** What is reported about all long-running work that a process does on request. */
export const runSchema = z.object({
  asked_by: principalSchema,
  /** Times are ISO 8601, UTC. */
  started_at: z.string(),
  /** The last sign of life while it runs. */
  updated_at: z.string(),
  /** Present once it has ended. */
  ended_at: z.string().optional(),
});

/** How a run ended that was not completed: the process stopped or was killed, or something went wrong. */
export const brokenOff = ['stopped', 'failed'] as const;

/** A run, as all processes see it; without an outcome it is under way. */
export type Run = z.infer<typeof runSchema> & { outcome?: string | undefined };
