import { validationError } from '../../domain/records/schema/validate.ts';

/** Parameters named in a refusal, and characters shown of each name. */
const MAX_NAMED = 20;
const MAX_SHOWN_NAME = 100;

/**
 * Refuses a query that holds more than the known parameters, with a `validation_failed` that names both: ignoring
 * one, such as a misspelt filter, would show more than was asked for.
 */
export function requireKnownParameters(query: object, known: readonly string[]): void {
  const unknown = Object.keys(query).filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  const takes = known.length === 0 ? 'takes none' : `takes ${known.join(', ')}`;
  throw validationError(
    unknown.slice(0, MAX_NAMED).map((name) => ({
      field: name.slice(0, MAX_SHOWN_NAME).toWellFormed(),
      message: `is not a known query parameter; this path ${takes}`,
    })),
  );
}
