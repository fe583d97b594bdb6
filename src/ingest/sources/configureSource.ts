import { ServiceError } from '../../errors.ts';
import { canonicalJson } from '../../events/canonicalJson.ts';
import { type Caller, newActorEvent } from '../../events/newEvent.ts';
import { sourcesStream } from '../../events/streamNames.ts';
import { appendDecided } from '../../ports/appendDecided.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import type { KeyDirectory } from '../../principals/keys/KeyDirectory.ts';
import { validate, validationError } from '../../records/validate.ts';
import { type Source, type SourceInput, sourceSchema } from './source.ts';
import { readSourceState, type SourceConfigured } from './sourceState.ts';

/** Sources of a workspace. */
export const MAX_SOURCES = 50;

export interface ConfigureSourcePorts {
  eventLog: EventLog;
  directory: Pick<KeyDirectory, 'known'>;
}

/**
 * Configures a source of the caller's workspace, whole, and gives it as it is then; no change when it is so already. Rejects with
 * `validation_failed`, also for a key that is not one of the workspace; with `conflict` where another source has the key, or
 * is the default one of the format, and where there are `MAX_SOURCES`; with `unreadable` and `unavailable`.
 */
export async function configureSource(
  { eventLog, directory }: ConfigureSourcePorts,
  caller: Caller,
  input: SourceInput,
): Promise<Source> {
  const { workspace } = caller;
  const source = validate(sourceSchema, input);
  if (source.key !== undefined) requireKeyOf(workspace, source.key, directory);
  const read = () => readSourceState(eventLog, workspace);
  await appendDecided(eventLog, sourcesStream(workspace), read, ({ sources }) => {
    const before = sources.get(source.id);
    if (before !== undefined && canonicalJson(before) === canonicalJson(source)) return undefined;
    if (before === undefined && sources.size >= MAX_SOURCES) {
      throw new ServiceError('conflict', `A workspace has at most ${MAX_SOURCES} sources.`);
    }
    requireSole(source, [...sources.values()]);
    const data: SourceConfigured = { source };
    return newActorEvent(caller, workspace, 'SourceConfigured', { ...data });
  });
  return source;
}

function requireKeyOf(workspace: string, keyId: string, { known }: Pick<KeyDirectory, 'known'>): void {
  const key = known.keys.get(keyId);
  if (key?.workspace === workspace && key.state !== 'deleted') return;
  throw validationError([{ field: 'key', message: 'must be the id of an API key of the workspace' }]);
}

/** What is sent has one source: no other one of the format has the same key, or none as well. */
function requireSole({ id, format, key }: Source, sources: readonly Source[]): void {
  const other = sources.find((one) => one.id !== id && one.format === format && one.key === key);
  if (other === undefined) return;
  const taken = key === undefined ? 'is the default one of the format: name a key' : 'has this key';
  throw new ServiceError('conflict', `Source ${other.id}, of the format ${format}, ${taken}.`);
}
