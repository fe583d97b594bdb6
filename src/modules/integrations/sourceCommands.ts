import { canonicalJson } from '../../domain/events/canonicalJson.ts';
import { type Caller, newActorEvent } from '../../domain/events/newEvent.ts';
import { sourcesStream } from '../../domain/events/streams.ts';
import { validate, validationError } from '../../domain/records/schema/validation.ts';
import { ServiceError } from '../../platform/errors.ts';
import { appendDecided, type EventLog } from '../../storage/eventLog.ts';
import { type KeyState, keysOfSender, refuseDeleted } from '../auth/apiKeys.ts';
import type { KeyDirectory } from '../auth/keyDirectory.ts';
import {
  isDefault,
  overlap,
  readSourceState,
  readSources,
  type Source,
  type SourceConfigured,
  type SourceInput,
  type SourceRemoved,
  sourceSchema,
} from './sources.ts';

/** Maximum number of sources in a workspace. */
export const MAX_SOURCES = 50;

interface ConfigureSourcePorts {
  eventLog: EventLog;
  directory: Pick<KeyDirectory, 'known'>;
}

/**
 * Configures a source of the caller's workspace, as a whole, and resolves with the source; appends nothing when it is
 * so already. Rejects with `validation_failed`, also for a key that is not one of the workspace; with `conflict`
 * where another source has the key or another one of its sender, or is the default one of the format, or where one of any workspace could claim
 * the same connection, where there are `MAX_SOURCES`, and where the workspace is deleted; with `unreadable` and `unavailable`.
 */
export async function configureSource(
  { eventLog, directory }: ConfigureSourcePorts,
  caller: Caller,
  input: SourceInput,
): Promise<Source> {
  const { workspace } = caller;
  refuseDeleted(directory.known.workspaces.get(workspace));
  const source = validate(sourceSchema, input);
  if (source.key !== undefined) requireKeyOf(workspace, source.key, directory);
  if (source.mllp !== undefined) await requireOwnConnections(eventLog, directory, workspace, source);
  const read = () => readSourceState(eventLog, workspace);
  await appendDecided(eventLog, sourcesStream(workspace), read, ({ sources }) => {
    const before = sources.get(source.id);
    if (before !== undefined && canonicalJson(before) === canonicalJson(source)) return undefined;
    if (before === undefined && sources.size >= MAX_SOURCES) {
      throw new ServiceError('conflict', `A workspace can have at most ${MAX_SOURCES} sources.`);
    }
    requireSole(source, [...sources.values()], directory.known);
    const data: SourceConfigured = { source };
    return newActorEvent(caller, workspace, 'SourceConfigured', { ...data });
  });
  return source;
}

function requireKeyOf(workspace: string, keyId: string, { known }: Pick<KeyDirectory, 'known'>): void {
  const keys = keysOfSender(known, keyId).flatMap((id) => known.keys.get(id) ?? []);
  if (keys.some((key) => key.workspace === workspace && key.state !== 'deleted')) return;
  throw validationError([{ field: 'key', message: 'must be the id of an API key of the workspace' }]);
}

/**
 * Whatever is sent has one source: no other has a key of the same sender, is also the default, or claims the same
 * connections.
 */
function requireSole(source: Source, sources: readonly Source[], known: Pick<KeyState, 'keys'>): void {
  const { id, format, key } = source;
  const keys = key === undefined ? [] : keysOfSender(known, key);
  for (const one of sources) {
    if (one.id === id || one.format !== format) continue;
    if (key !== undefined && one.key === key) throw sourceConflict(one, 'already uses this key.');
    if (one.key !== undefined && keys.includes(one.key))
      throw sourceConflict(
        one,
        `already uses key ${one.key} of the same sender, and so applies to this key as well.`,
      );
    if (isDefault(source) && isDefault(one))
      throw sourceConflict(one, 'is already the default for this format. Specify a key.');
    if (claimsOf(source, one)) throw sourceConflict(one, CLAIMS);
  }
}

const CLAIMS = 'could claim the same connections. Distinguish them by certificate, network or port.';

function claimsOf({ mllp: one }: Source, { mllp: other }: Source): boolean {
  return one !== undefined && other !== undefined && overlap(one, other);
}

function sourceConflict({ id, format }: Source, why: string, place = ''): ServiceError {
  return new ServiceError('conflict', `Source ${id}${place}, of the format ${format}, ${why}`);
}

/**
 * There is one listener for all workspaces. Should two such sources be configured at once, it accepts the connections
 * of neither.
 */
async function requireOwnConnections(
  eventLog: EventLog,
  { known }: Pick<KeyDirectory, 'known'>,
  own: string,
  source: Source,
): Promise<void> {
  for (const workspace of known.workspaces.keys()) {
    if (workspace === own) continue;
    const other = (await readSources(eventLog, workspace)).find((one) => claimsOf(source, one));
    if (other) throw sourceConflict(other, CLAIMS, ` of the workspace ${workspace}`);
  }
}

/**
 * Removes a source of the caller's workspace; what it sent stays. Rejects with `not_found` when there is none with
 * that id, with `unreadable` and `unavailable`.
 */
export async function removeSource(eventLog: EventLog, caller: Caller, id: string): Promise<void> {
  const { workspace } = caller;
  const read = () => readSourceState(eventLog, workspace);
  await appendDecided(eventLog, sourcesStream(workspace), read, ({ sources }) => {
    if (!sources.has(id)) throw new ServiceError('not_found', 'The workspace has no source with that id.');
    const data: SourceRemoved = { source_id: id };
    return newActorEvent(caller, workspace, 'SourceRemoved', { ...data });
  });
}
