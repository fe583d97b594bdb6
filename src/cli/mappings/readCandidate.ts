import { isJsonObject } from '../../events/event.ts';
import { BUILT_IN_SOURCE, type Source, sourceSchema } from '../../ingest/sources/source.ts';
import { validate, validationError } from '../../records/validate.ts';
import { readJsonFile } from '../readJsonFile.ts';

/**
 * The configuration of a source that a file holds, as `sources list --json` prints one. Rejects with `validation_failed`, also where it is that of
 * another source: only messages that came when none was configured may get a source with a name of its own.
 */
export async function readCandidate(path: string, sourceId: string): Promise<Source> {
  const value = await readJsonFile(path);
  const candidate = validate(sourceSchema, isJsonObject(value) ? withoutNone(value) : value);
  if (sourceId !== BUILT_IN_SOURCE && candidate.id !== sourceId) {
    throw validationError([{ field: 'id', message: 'must match the source whose messages are read' }]);
  }
  return candidate;
}

/** What nothing is configured of is printed as `null`, or as an empty object. */
function withoutNone(value: object): object {
  const isSome = (one: unknown) => one !== null && !(isJsonObject(one) && Object.keys(one).length === 0);
  return Object.fromEntries(Object.entries(value).filter(([, one]) => isSome(one)));
}
