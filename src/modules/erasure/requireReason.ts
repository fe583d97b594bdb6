import { validationError } from '../../domain/records/schema/validate.ts';

const MAX_REASON = 1_000;

/** Returns a reason as it is stored, trimmed. Throws `validation_failed` when it is empty or too long. */
export function requireReason(reason: string): string {
  const said = reason.trim();
  if (said !== '' && said.length <= MAX_REASON) return said;
  throw validationError([{ field: 'reason', message: `must have 1 to ${MAX_REASON} characters` }]);
}
