import { isJsonObject } from '../../domain/events/event.ts';
import { validate, validationError } from '../../domain/records/schema/validate.ts';
import { BUILT_IN_SOURCE, type Source, sourceSchema } from '../../modules/integrations/source.ts';
import { readJsonFile } from '../lib/readJsonFile.ts';

/**
 * Reads the configuration of a source from a file, in the form printed by `sources list --json`. Rejects with
 * `validation_failed`, also when it belongs to another source: only messages that arrived when none was configured may be given a
 * source with its own name.
 */
export async function readCandidate(path: string, sourceId: string): Promise<Source> {
  const value = await readJsonFile(path);
  const candidate = validate(sourceSchema, isJsonObject(value) ? withoutNone(value) : value);
  if (sourceId !== BUILT_IN_SOURCE && candidate.id !== sourceId) {
    throw validationError([{ field: 'id', message: 'must match the source whose messages are read' }]);
  }
  return candidate;
}

/** Unconfigured members are printed as `null`, or as an empty object. */
function withoutNone(value: object): object {
  const isSome = (one: unknown) => one !== null && !(isJsonObject(one) && Object.keys(one).length === 0);
  return Object.fromEntries(Object.entries(value).filter(([, one]) => isSome(one)));
}
