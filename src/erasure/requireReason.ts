import { validationError } from '../records/validate.ts';

const MAX_REASON = 1_000;

/** A reason as it is kept, without blanks around it. Throws `validation_failed` when there is none, or it is too long. */
export function requireReason(reason: string): string {
  const said = reason.trim();
  if (said !== '' && said.length <= MAX_REASON) return said;
  throw validationError([{ field: 'reason', message: `must have 1 to ${MAX_REASON} characters` }]);
}
