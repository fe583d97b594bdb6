import { z } from 'zod';
import type { RecordedEvent } from '../../events/event.ts';
import type { Principal } from '../../events/eventMetadata.ts';
import { upcast } from '../../events/upcast.ts';

export const permissions = ['write', 'read', 'events', 'events:deidentified', 'webhooks'] as const;
export const permissionSchema = z.enum(permissions);
export type Permission = (typeof permissions)[number];

export interface Workspace {
  id: string;
  state: 'active' | 'deactivated';
  createdAt: string;
}

export interface ApiKey {
  id: string;
  workspace: string;
  name: string;
  permissions: Permission[];
  /** SHA-256 of the key, lower-case hex. */
  sha256: string;
  state: 'active' | 'deactivated' | 'deleted';
  createdAt: string;
  createdBy: Principal;
  /** From when on it is refused, ISO 8601; undefined: never by itself. */
  expiresAt?: string;
  /** Id of the key that took its place. */
  replacedBy?: string;
}

/** All workspaces and keys, as folded from the access stream. */
export interface Access {
  workspaces: Map<string, Workspace>;
  keys: Map<string, ApiKey>;
  keyIdByHash: Map<string, string>;
  /** Revision of the last event folded; -1 before the first. */
  revision: number;
}

export function emptyAccess(): Access {
  return { workspaces: new Map(), keys: new Map(), keyIdByHash: new Map(), revision: -1 };
}

/** Data of `ApiKeyCreated`. */
export interface ApiKeyCreated {
  key_id: string;
  name: string;
  permissions: Permission[];
  sha256: string;
}

/** Data of `ApiKeyRotated`: the replacement is made, and the key expires. */
export interface ApiKeyRotated {
  key_id: string;
  /** ISO 8601. */
  expires_at: string;
  replacement: ApiKeyCreated;
}

/** Whether a key is past its time at a moment (milliseconds since 1970), whatever its state. */
export function isExpired({ expiresAt }: ApiKey, now: number): boolean {
  return expiresAt !== undefined && Date.parse(expiresAt) <= now;
}

/** How a key stands at a moment (milliseconds since 1970), for people. */
export function stateOf(key: ApiKey, now: number): ApiKey['state'] | 'expired' {
  return key.state !== 'deleted' && isExpired(key, now) ? 'expired' : key.state;
}

function addKey(access: Access, { metadata, recordedAt }: RecordedEvent, made: ApiKeyCreated): void {
  const { key_id: id, name, permissions, sha256 } = made;
  const { workspace, principal: createdBy } = metadata;
  access.keys.set(id, {
    id,
    workspace,
    name,
    permissions,
    sha256,
    state: 'active',
    createdAt: recordedAt,
    createdBy,
  });
  access.keyIdByHash.set(sha256, id);
}

function setWorkspaceState(access: Access, event: RecordedEvent, state: Workspace['state']): void {
  const workspace = access.workspaces.get(event.metadata.workspace);
  if (workspace) access.workspaces.set(workspace.id, { ...workspace, state });
}

function setKeyState(access: Access, event: RecordedEvent, state: ApiKey['state']): void {
  const key = access.keys.get(event.data.key_id as string);
  if (key) access.keys.set(key.id, { ...key, state });
}

const folds: Record<string, (access: Access, event: RecordedEvent) => void> = {
  WorkspaceCreated(access, { metadata: { workspace: id }, recordedAt: createdAt }) {
    access.workspaces.set(id, { id, state: 'active', createdAt });
  },
  WorkspaceDeactivated: (access, event) => setWorkspaceState(access, event, 'deactivated'),
  WorkspaceActivated: (access, event) => setWorkspaceState(access, event, 'active'),
  ApiKeyCreated: (access, event) => addKey(access, event, event.data as unknown as ApiKeyCreated),
  ApiKeyRotated(access, event) {
    const { key_id, expires_at: expiresAt, replacement } = event.data as unknown as ApiKeyRotated;
    addKey(access, event, replacement);
    const key = access.keys.get(key_id);
    if (key) access.keys.set(key_id, { ...key, expiresAt, replacedBy: replacement.key_id });
  },
  ApiKeyDeactivated: (access, event) => setKeyState(access, event, 'deactivated'),
  ApiKeyActivated: (access, event) => setKeyState(access, event, 'active'),
  ApiKeyDeleted: (access, event) => setKeyState(access, event, 'deleted'),
};

/**
 * Folds the next event of the access stream into `access`, in place. Throws, and changes nothing, when the event is of
 * a schema version that is not known: who may do what is then not for this process to tell.
 */
export function evolveAccess(access: Access, event: RecordedEvent): void {
  const fold = folds[event.type];
  if (fold) fold(access, upcast(event));
  access.revision = event.revision;
}
