import { WORKSPACE_ID } from '../../domain/events/streamNames.ts';
import { ServiceError } from '../../platform/errors.ts';
import { type ApiKey, isExpired, type KeyState, type Workspace } from './keyState.ts';

/** Returns the workspace with an id. Throws `not_found`. */
export function requireWorkspace(known: Readonly<KeyState>, id: string): Workspace {
  const workspace = known.workspaces.get(id);
  if (!workspace) throw new ServiceError('not_found', `Workspace ${id} does not exist.`);
  return workspace;
}

/** Returns the key with an id, whatever its state. Throws `not_found`. */
export function requireKey(known: Readonly<KeyState>, id: string): ApiKey {
  const key = known.keys.get(id);
  if (!key) throw new ServiceError('not_found', `Key ${id} does not exist.`);
  return key;
}

/** The same, but throws `conflict` if it is deleted. */
export function requireLiving(known: Readonly<KeyState>, id: string): ApiKey {
  const key = requireKey(known, id);
  if (key.state === 'deleted') throw new ServiceError('conflict', `Key ${id} is deleted. This is permanent.`);
  return key;
}

/** The same, but throws `conflict` unless it is accepted and has not been replaced. */
export function requireInUse(known: Readonly<KeyState>, id: string): ApiKey {
  const key = requireKey(known, id);
  const { state, replacedBy } = key;
  if (state !== 'active') throw new ServiceError('conflict', `Key ${id} is ${state}.`);
  if (isExpired(key, Date.now())) throw new ServiceError('conflict', `Key ${id} has expired.`);
  if (replacedBy === undefined) return key;
  throw new ServiceError('conflict', `Key ${id} is already being replaced by key ${replacedBy}.`);
}

/** Throws `validation_failed` when a text cannot be the id of a workspace. */
export function checkWorkspaceId(id: string): void {
  if (WORKSPACE_ID.test(id)) return;
  throw new ServiceError(
    'validation_failed',
    'The id of a workspace must have 2 to 40 characters: lowercase letters, digits or underscores.',
  );
}
