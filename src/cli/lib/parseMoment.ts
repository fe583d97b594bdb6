import { InvalidArgumentError } from 'commander';
import { requiredDate } from '../../domain/records/schema/fields.ts';

/** Checks an ISO 8601 date or date-time, and returns it as given. */
export function parseMoment(text: string): string {
  if (requiredDate('').safeParse(text).success) return text;
  throw new InvalidArgumentError(
    'Specify an ISO 8601 date or date-time, such as 2026-01-31 or 2026-01-31T09:30:00Z.',
  );
}
