import { z } from 'zod';
import type { FieldMessage } from '../../../platform/errors.ts';

/** The parts of an OperationOutcome (FHIR R4, 2.28) that are reported. */
export const outcomeSchema = z.object({
  resourceType: z.literal('OperationOutcome'),
  issue: z
    .array(
      z.object({
        severity: z.string(),
        code: z.string(),
        diagnostics: z.string().default(''),
        expression: z.array(z.string()).default([]),
      }),
    )
    .min(1),
});

export type Outcome = z.infer<typeof outcomeSchema>;

/** Returns the warnings about something that was accepted, by element. */
export function remarksIn(outcome: Outcome): FieldMessage[] {
  return messagesOf(outcome, 'warning');
}

/** Returns why something was refused, as in the REST API. */
export function refusalIn(outcome: Outcome): { error: string; code?: string; details: FieldMessage[] } {
  const details = messagesOf(outcome, 'error');
  const isReference = outcome.issue.some(({ code }) => code === 'not-found');
  return {
    error: details[0]?.message ?? 'refused',
    ...(isReference && { code: 'reference_not_found' }),
    details,
  };
}

function messagesOf({ issue }: Outcome, wanted: string): FieldMessage[] {
  return issue.flatMap(({ severity, expression, diagnostics }) =>
    severity === wanted ? [{ field: expression[0] ?? '', message: diagnostics }] : [],
  );
}
