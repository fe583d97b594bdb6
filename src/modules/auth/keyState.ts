import { type DisclosureTerms, type NullableTerms, termsOf } from '../../domain/events/disclosureTerms.ts';
import { dataAs, type RecordedEvent } from '../../domain/events/event.ts';
import type { Principal } from '../../domain/events/eventMetadata.ts';
import type { UnchangedChoice } from '../../domain/events/unchangedChoice.ts';
import { upcast } from '../../domain/events/upcast.ts';
import { endAt, type KeyLimits, limitsOf, type NullableLimits } from './keyLimits.ts';
import type { Permission } from './permissions.ts';
import type { RetentionChoice } from './retention.ts';

export interface Workspace {
  id: string;
  state: 'active' | 'deactivated';
  createdAt: string;
  /** Whether it is for testing: its keys are test keys, and it may be emptied. Fixed at creation. */
  sandbox?: boolean;
  /** How long its records are kept; undefined: as set by `RETENTION_YEARS`. */
  retention?: RetentionChoice;
  /** What happens to a write that changes no field, unless the request says; undefined: `append`. */
  unchanged?: UnchangedChoice;
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
  /** The key is refused from this time, ISO 8601; undefined: it does not expire. */
  expiresAt?: string;
  /** Where requests may come from, in CIDR notation; undefined: anywhere. */
  networks?: readonly string[];
  /** Requests per minute, if the key has its own limit. */
  rateLimit?: number;
  /** Id of the first key of its sender: a rotation replaces the key, and the sender stays the same. */
  sender: string;
  /** Id of the key that replaced it. */
  replacedBy?: string;
  /** Recipient and purpose of what is read with it; absent if not stated. */
  terms?: DisclosureTerms;
}

/** All workspaces and keys, folded from the stream of keys. */
export interface KeyState {
  workspaces: Map<string, Workspace>;
  keys: Map<string, ApiKey>;
  keyIdByHash: Map<string, string>;
  /** Revision of the last event folded; -1 before the first. */
  revision: number;
}

export function noKeys(): KeyState {
  return { workspaces: new Map(), keys: new Map(), keyIdByHash: new Map(), revision: -1 };
}

/** Data of `WorkspaceCreated`. */
export interface WorkspaceCreated {
  workspace: string;
  sandbox?: boolean;
}

/** Data of `ApiKeyCreated`. */
export interface ApiKeyCreated extends DisclosureTerms, KeyLimits {
  key_id: string;
  name: string;
  permissions: Permission[];
  sha256: string;
}

/** Data of `ApiKeyUpdated`: the terms that changed, for all keys of the sender; `null` withdraws one. */
export interface ApiKeyUpdated extends NullableTerms {
  key_id: string;
}

/** Data of `ApiKeyLimitsSet`: the limits that changed; `null` removes one. */
export interface ApiKeyLimitsSet extends NullableLimits {
  key_id: string;
}

/** Data of `WorkspaceRetentionSet`. */
export interface WorkspaceRetentionSet {
  workspace: string;
  /** Years, or `off`, or `default`. */
  retention: RetentionChoice;
}

/** Data of `WorkspaceUnchangedSet`. */
export interface WorkspaceUnchangedSet {
  workspace: string;
  unchanged: UnchangedChoice;
}

/** Data of `ApiKeyRotated`: the replacement is created, and the key expires. */
export interface ApiKeyRotated {
  key_id: string;
  /** ISO 8601. */
  expires_at: string;
  replacement: ApiKeyCreated;
}

/** Whether a key has expired at a moment (milliseconds since 1970), whatever its state. */
export function isExpired({ expiresAt }: ApiKey, now: number): boolean {
  return expiresAt !== undefined && Date.parse(expiresAt) <= now;
}

/** Returns the state of a key at a moment (milliseconds since 1970), for display. */
export function stateOf(key: ApiKey, now: number): ApiKey['state'] | 'expired' {
  return key.state !== 'deleted' && isExpired(key, now) ? 'expired' : key.state;
}

/** Returns the ids of all keys of a key's sender, oldest first; only its own if the key is unknown. */
export function keysOfSender({ keys }: Pick<KeyState, 'keys'>, keyId: string): string[] {
  const ids: string[] = [];
  for (let id = keys.get(keyId)?.sender ?? keyId; ; ) {
    ids.push(id);
    const next = keys.get(id)?.replacedBy;
    if (next === undefined) return ids;
    id = next;
  }
}

/** Returns the limits of a key, as in events. */
export function limitsOfKey({ expiresAt, networks, rateLimit }: ApiKey): KeyLimits {
  return limitsOf({ expires_at: expiresAt, networks, rate_limit: rateLimit });
}

/** Returns when a replaced key expires: at a moment (milliseconds since 1970), or earlier if it would have expired anyway. */
export function endOfReplaced({ expiresAt }: ApiKey, at: number): string {
  return expiresAt !== undefined && Date.parse(expiresAt) < at ? expiresAt : endAt(at);
}

/** Returns when the replacement of a key expires if created now: it has the same lifetime. */
export function endOfReplacement({ createdAt, expiresAt }: ApiKey, now: number): string | undefined {
  if (expiresAt === undefined) return undefined;
  return endAt(now + Date.parse(expiresAt) - Date.parse(createdAt));
}

function withLimits(
  { expiresAt: _end, networks: _from, rateLimit: _rate, ...key }: ApiKey,
  limits: KeyLimits,
): ApiKey {
  const { expires_at: expiresAt, networks, rate_limit: rateLimit } = limits;
  return {
    ...key,
    ...(expiresAt && { expiresAt }),
    ...(networks && { networks }),
    ...(rateLimit && { rateLimit }),
  };
}

function addKey(
  known: KeyState,
  { metadata, recordedAt }: RecordedEvent,
  made: ApiKeyCreated,
  sender = made.key_id,
): void {
  const { key_id: id, name, permissions, sha256 } = made;
  const { workspace, principal: createdBy } = metadata;
  const terms = termsOf(made);
  const key: ApiKey = {
    id,
    workspace,
    name,
    permissions,
    sha256,
    state: 'active',
    createdAt: recordedAt,
    createdBy,
    sender,
    ...(terms && { terms }),
  };
  known.keys.set(id, withLimits(key, limitsOf(made)));
  known.keyIdByHash.set(sha256, id);
}

function setWorkspaceState(known: KeyState, event: RecordedEvent, state: Workspace['state']): void {
  const workspace = known.workspaces.get(event.metadata.workspace);
  if (workspace) known.workspaces.set(workspace.id, { ...workspace, state });
}

function setKeyState(known: KeyState, event: RecordedEvent, state: ApiKey['state']): void {
  const key = known.keys.get(event.data.key_id as string);
  if (key) known.keys.set(key.id, { ...key, state });
}

function updateKey(known: KeyState, { data }: RecordedEvent): void {
  const { key_id, ...changed } = dataAs<ApiKeyUpdated>(data);
  for (const id of keysOfSender(known, key_id)) {
    const key = known.keys.get(id);
    if (key === undefined) continue;
    const { terms: before, ...rest } = key;
    const terms = termsOf({ ...before, ...changed });
    known.keys.set(id, { ...rest, ...(terms && { terms }) });
  }
}

function setLimits(known: KeyState, { data }: RecordedEvent): void {
  const { key_id, ...changed } = dataAs<ApiKeyLimitsSet>(data);
  const key = known.keys.get(key_id);
  if (key) known.keys.set(key_id, withLimits(key, limitsOf({ ...limitsOfKey(key), ...changed })));
}

const folds: Record<string, (known: KeyState, event: RecordedEvent) => void> = {
  WorkspaceCreated(known, { data, metadata: { workspace: id }, recordedAt: createdAt }) {
    const { sandbox } = dataAs<WorkspaceCreated>(data);
    known.workspaces.set(id, { id, state: 'active', createdAt, ...(sandbox && { sandbox }) });
  },
  WorkspaceDeactivated: (known, event) => setWorkspaceState(known, event, 'deactivated'),
  WorkspaceActivated: (known, event) => setWorkspaceState(known, event, 'active'),
  WorkspaceRetentionSet(known, { data, metadata }) {
    const { retention } = dataAs<WorkspaceRetentionSet>(data);
    const workspace = known.workspaces.get(metadata.workspace);
    if (workspace) known.workspaces.set(workspace.id, { ...workspace, retention });
  },
  WorkspaceUnchangedSet(known, { data, metadata }) {
    const { unchanged } = dataAs<WorkspaceUnchangedSet>(data);
    const workspace = known.workspaces.get(metadata.workspace);
    if (workspace) known.workspaces.set(workspace.id, { ...workspace, unchanged });
  },
  ApiKeyCreated: (known, event) => addKey(known, event, dataAs<ApiKeyCreated>(event.data)),
  ApiKeyUpdated: updateKey,
  ApiKeyLimitsSet: setLimits,
  ApiKeyRotated(known, event) {
    const { key_id, expires_at: expiresAt, replacement } = dataAs<ApiKeyRotated>(event.data);
    const key = known.keys.get(key_id);
    addKey(known, event, replacement, key?.sender);
    if (key) known.keys.set(key_id, { ...key, expiresAt, replacedBy: replacement.key_id });
  },
  ApiKeyDeactivated: (known, event) => setKeyState(known, event, 'deactivated'),
  ApiKeyActivated: (known, event) => setKeyState(known, event, 'active'),
  ApiKeyDeleted: (known, event) => setKeyState(known, event, 'deleted'),
};

/**
 * Folds the next event of the stream of keys into `known`, in place. Throws, and changes nothing, when the event has an unknown
 * schema version: this process can then no longer tell who may do what.
 */
export function evolveKeys(known: KeyState, event: RecordedEvent): void {
  const fold = folds[event.type];
  if (fold) fold(known, upcast(event));
  known.revision = event.revision;
}
