import { InvalidArgumentError } from 'commander';
import { requiredDate } from '../../domain/records/schema/fields.ts';
import { instantOf } from '../../domain/records/schema/instantOf.ts';

/** Parses an ISO 8601 date or date-time to the log's time format. */
export function parseInstant(text: string): string {
  const result = requiredDate(text).safeParse(text);
  if (!result.success) throw new InvalidArgumentError(`It ${result.error.issues[0]?.message}.`);
  return new Date(instantOf(text)).toISOString();
}
