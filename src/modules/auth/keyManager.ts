import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, ReturnChoice, UnchangedChoice } from '../../domain/events/event.ts';
import { type Actor, newActorEvent } from '../../domain/events/newEvent.ts';
import { type DisclosureTerms, type NullableTerms, termsOf } from '../../domain/events/payloads.ts';
import { WORKSPACE_ID } from '../../domain/events/streams.ts';
import { invalidField, ServiceError } from '../../platform/errors.ts';
import type { OfficeHours } from '../audit/accessReview.ts';
import { parseTerms } from '../audit/disclosureTerms.ts';
import {
  type ApiKey,
  type ApiKeyCreated,
  type ApiKeyLimitsSet,
  type ApiKeyPublicKeysSet,
  type ApiKeyRotated,
  type BreakGlassChoice,
  endOfReplaced,
  endOfReplacement,
  generateApiKey,
  generateId,
  generateTestKey,
  hashApiKey,
  isExpired,
  type KeyLimits,
  type KeyState,
  limitNames,
  limitsOf,
  limitsOfKey,
  type NullableLimits,
  parseLimits,
  type ReasonChoice,
  type RetentionChoice,
  refuseDeleted,
  requireRetention,
  type Workspace,
  type WorkspaceBreakGlassSet,
  type WorkspaceCreated,
  type WorkspaceDeleted,
  type WorkspaceDeletionStarted,
  type WorkspaceOfficeHoursSet,
  type WorkspaceOrganizationSet,
  type WorkspaceReasonSet,
  type WorkspaceRetentionSet,
  type WorkspaceReturnsSet,
  type WorkspaceUnchangedSet,
} from './apiKeys.ts';
import type { KeyDirectory } from './keyDirectory.ts';
import { arrangePermissions, type Permission, permissions } from './permissions.ts';
import type { PublicKey } from './publicKeys.ts';

/** Returns the workspace with an id. Throws `not_found`. */
function requireWorkspace(known: Readonly<KeyState>, id: string): Workspace {
  const workspace = known.workspaces.get(id);
  if (!workspace) throw new ServiceError('not_found', `Workspace ${id} does not exist.`);
  return workspace;
}

/** The same, but throws `conflict` once its deletion has started. */
function requireRemaining(known: Readonly<KeyState>, id: string): Workspace {
  const workspace = requireWorkspace(known, id);
  refuseDeleted(workspace);
  return workspace;
}

/** Returns the key with an id, whatever its state. Throws `not_found`. */
function requireKey(known: Readonly<KeyState>, id: string): ApiKey {
  const key = known.keys.get(id);
  if (!key) throw new ServiceError('not_found', `Key ${id} does not exist.`);
  return key;
}

/** The same, but throws `conflict` if it is deleted. */
function requireLiving(known: Readonly<KeyState>, id: string): ApiKey {
  const key = requireKey(known, id);
  if (key.state === 'deleted') throw new ServiceError('conflict', `Key ${id} is deleted. This is permanent.`);
  return key;
}

/** The same, but throws `conflict` unless it is accepted and has not been replaced. */
function requireInUse(known: Readonly<KeyState>, id: string): ApiKey {
  const key = requireKey(known, id);
  const { state, replacedBy } = key;
  if (state !== 'active') throw new ServiceError('conflict', `Key ${id} is ${state}.`);
  if (isExpired(key, Date.now())) throw new ServiceError('conflict', `Key ${id} has expired.`);
  if (replacedBy === undefined) return key;
  throw new ServiceError('conflict', `Key ${id} is already being replaced by key ${replacedBy}.`);
}

/** Throws `validation_failed` when a text cannot be the id of a workspace. */
function checkWorkspaceId(id: string): void {
  if (WORKSPACE_ID.test(id)) return;
  throw invalidField(
    'id',
    'The id of a workspace must have 2 to 40 characters: lowercase letters, digits or underscores.',
  );
}

interface Change {
  type: string;
  workspace: string;
  data: JsonObject;
  /** Default: a new one. */
  eventId?: string | undefined;
}

/** A newly created key; `key` is shown only now and stored nowhere. */
export interface CreatedKey extends Pick<ApiKey, 'id' | 'workspace' | 'name' | 'permissions'>, KeyLimits {
  key: string;
}

/** A newly created replacement, and when the previous key will be refused, ISO 8601. */
interface RotatedKey extends CreatedKey {
  previousExpiresAt: string;
}

const MAX_KEY_NAME_LENGTH = 100;
const MAX_ORGANIZATION_LENGTH = 200;

/** Longest time for which a rotated key is still accepted. */
export const MAX_ROTATION_SECONDS = 30 * 86_400;

/**
 * Changes to workspaces and API keys. Each is decided on the whole stream of keys and appended only if no one changed it in the
 * meantime; otherwise it is decided again. Impossible changes reject with `not_found`, `conflict` or `validation_failed`.
 */
export class KeyManager {
  readonly #directory: KeyDirectory;
  readonly #actor: Actor;

  constructor(directory: KeyDirectory, actor: Actor) {
    this.#directory = directory;
    this.#actor = actor;
  }

  /** Creates a workspace, permanently either a sandbox or not; `conflict` when the id is taken. */
  async createWorkspace(id: string, { sandbox = false } = {}): Promise<void> {
    await this.#change((known) => {
      checkWorkspaceId(id);
      const earlier = known.workspaces.get(id);
      refuseDeleted(earlier);
      if (earlier) throw new ServiceError('conflict', `Workspace ${id} already exists.`);
      const data: WorkspaceCreated = { workspace: id, ...(sandbox && { sandbox }) };
      return { type: 'WorkspaceCreated', workspace: id, data: { ...data } };
    });
  }

  /** Deactivates or activates a workspace; does nothing when already in that state. */
  async setWorkspaceState(id: string, state: 'active' | 'deactivated'): Promise<void> {
    await this.#change((known) => {
      const workspace = requireRemaining(known, id);
      if (workspace.state === state) return undefined;
      const type = state === 'active' ? 'WorkspaceActivated' : 'WorkspaceDeactivated';
      return { type, workspace: id, data: { workspace: id } };
    });
  }

  /** Sets how long records of a workspace are kept; does nothing when already set so. */
  async setRetention(id: string, retention: RetentionChoice): Promise<void> {
    await this.#change((known) => {
      requireRetention(retention);
      const workspace = requireRemaining(known, id);
      if ((workspace.retention ?? 'default') === retention) return undefined;
      const data: WorkspaceRetentionSet = { workspace: id, retention };
      return { type: 'WorkspaceRetentionSet', workspace: id, data: { ...data } };
    });
  }

  /**
   * Sets what happens to writes to a workspace that change no field, unless the request says; does nothing when already set so.
   */
  async setUnchanged(id: string, unchanged: UnchangedChoice): Promise<void> {
    await this.#change((known) => {
      const workspace = requireRemaining(known, id);
      if ((workspace.unchanged ?? 'append') === unchanged) return undefined;
      const data: WorkspaceUnchangedSet = { workspace: id, unchanged };
      return { type: 'WorkspaceUnchangedSet', workspace: id, data: { ...data } };
    });
  }

  /** Sets whether users without the right for a record may open it with a reason; does nothing when already set so. */
  async setBreakGlass(id: string, choice: BreakGlassChoice): Promise<void> {
    await this.#change((known) => {
      const workspace = requireRemaining(known, id);
      if ((workspace.breakGlass ?? 'refuse') === choice) return undefined;
      const data: WorkspaceBreakGlassSet = { workspace: id, break_glass: choice };
      return { type: 'WorkspaceBreakGlassSet', workspace: id, data: { ...data } };
    });
  }

  /**
   * Sets what happens to writes of erased records of a workspace; does nothing when already set so. `eventId`: of the event, where the
   * request may be repeated.
   */
  async setReturns(id: string, returns: ReturnChoice, eventId?: string): Promise<void> {
    await this.#change((known) => {
      const workspace = requireRemaining(known, id);
      if ((workspace.returns ?? 'allow') === returns) return undefined;
      const data: WorkspaceReturnsSet = { workspace: id, returns };
      return { type: 'WorkspaceReturnsSet', workspace: id, data: { ...data }, eventId };
    });
  }

  /** Sets whether reads at the command line and with keys of a workspace need a reason; does nothing when already set so. */
  async setReason(id: string, reason: ReasonChoice): Promise<void> {
    await this.#change((known) => {
      const workspace = requireRemaining(known, id);
      if ((workspace.reason ?? 'optional') === reason) return undefined;
      const data: WorkspaceReasonSet = { workspace: id, reason };
      return { type: 'WorkspaceReasonSet', workspace: id, data: { ...data } };
    });
  }

  /**
   * Sets the name of the organization that a workspace belongs to, for what is handed over; an empty one withdraws it. Does nothing
   * when already set so.
   */
  async setOrganization(id: string, name: string): Promise<void> {
    await this.#change((known) => {
      const organization = name.trim() || null;
      if (organization !== null && organization.length > MAX_ORGANIZATION_LENGTH)
        throw new ServiceError(
          'validation_failed',
          `The name of an organization must have at most ${MAX_ORGANIZATION_LENGTH} characters.`,
        );
      const workspace = requireRemaining(known, id);
      if ((workspace.organization ?? null) === organization) return undefined;
      const data: WorkspaceOrganizationSet = { workspace: id, organization };
      return { type: 'WorkspaceOrganizationSet', workspace: id, data: { ...data } };
    });
  }

  /** Sets when people work in a workspace; undefined: at any time. Does nothing when already set so. */
  async setOfficeHours(id: string, hours: OfficeHours | undefined): Promise<void> {
    await this.#change((known) => {
      const workspace = requireRemaining(known, id);
      if (isDeepStrictEqual(workspace.officeHours, hours)) return undefined;
      const data: WorkspaceOfficeHoursSet = { workspace: id, office_hours: hours ?? null };
      return { type: 'WorkspaceOfficeHoursSet', workspace: id, data: { ...data } };
    });
  }

  /**
   * Deactivates a workspace, then starts its deletion, which nothing takes back; does nothing once that has started. `messages`: how
   * many messages of EMRs it has.
   */
  async startDeletion(id: string, { reason, messages }: { reason: string; messages: number }): Promise<void> {
    if (requireWorkspace(this.#directory.known, id).deletion) return;
    await this.setWorkspaceState(id, 'deactivated');
    await this.#change((known) => {
      if (requireWorkspace(known, id).deletion) return undefined;
      const data: WorkspaceDeletionStarted = { workspace: id, reason, messages };
      return { type: 'WorkspaceDeletionStarted', workspace: id, data: { ...data } };
    });
  }

  /** Completes a deletion that has started; does nothing when it is complete. `erased`: what was erased since the start. */
  async completeDeletion(id: string, erased: Pick<WorkspaceDeleted, 'records' | 'documents'>): Promise<void> {
    await this.#change((known) => {
      const { state, deletion } = requireWorkspace(known, id);
      if (state === 'deleted' || deletion === undefined) return undefined;
      const { reason, messages } = deletion;
      const data: WorkspaceDeleted = { workspace: id, reason, ...erased, messages };
      return { type: 'WorkspaceDeleted', workspace: id, data: { ...data } };
    });
  }

  /**
   * Creates a key, and its workspace when that does not exist; `terms` state the recipient and purpose of what is read with it;
   * `limits` restrict its use.
   */
  async createKey(
    workspace: string,
    name: string,
    granted: Permission[],
    terms: NullableTerms = {},
    limits: NullableLimits = {},
  ): Promise<CreatedKey> {
    if (name.trim() === '' || name.length > MAX_KEY_NAME_LENGTH) {
      throw invalidField('name', `The name of a key must have 1 to ${MAX_KEY_NAME_LENGTH} characters.`);
    }
    const given = termsOf(parseTerms(terms));
    const narrowed = limitsOf(parseLimits(limits, Date.now()));
    const chosen = arrangePermissions(granted);
    await this.#change((known) => {
      checkWorkspaceId(workspace);
      if (known.workspaces.has(workspace)) {
        requireRemaining(known, workspace);
        return undefined;
      }
      return { type: 'WorkspaceCreated', workspace, data: { workspace } };
    });
    const { key, ...stored } = newKey(requireWorkspace(this.#directory.known, workspace));
    const data: ApiKeyCreated = { ...stored, name, permissions: chosen, ...given, ...narrowed };
    await this.#change((known) => {
      requireRemaining(known, workspace);
      return { type: 'ApiKeyCreated', workspace, data: { ...data } };
    });
    return { id: data.key_id, workspace, name, permissions: chosen, ...narrowed, key };
  }

  /**
   * Changes the terms under which data go to the key's sender, for data read from then on, with any key of the sender; omitted
   * terms stay, `null` withdraws one. Does nothing when already set so; `conflict` when the key is deleted.
   */
  async updateKey(id: string, terms: NullableTerms): Promise<void> {
    const sent = parseTerms(terms);
    await this.#change((known) => {
      const key = requireLiving(known, id);
      const changed = Object.entries(sent).filter(
        ([name, value]) => value !== (key.terms?.[name as keyof DisclosureTerms] ?? null),
      );
      if (changed.length === 0) return undefined;
      const data = { key_id: id, ...Object.fromEntries(changed) };
      return { type: 'ApiKeyUpdated', workspace: key.workspace, data };
    });
  }

  /**
   * Changes the limits of a key; omitted limits stay, `null` removes one. Does nothing when already set so; `conflict` when the
   * key is deleted, and for a new expiry when it has been replaced.
   */
  async setLimits(id: string, limits: NullableLimits): Promise<void> {
    const sent = parseLimits(limits, Date.now());
    await this.#change((known) => {
      const key = requireLiving(known, id);
      const before = limitsOfKey(key);
      const changed = limitNames.filter(
        (name) => sent[name] !== undefined && !isDeepStrictEqual(sent[name], before[name] ?? null),
      );
      if (changed.length === 0) return undefined;
      if (changed.includes('expires_at') && key.replacedBy !== undefined) {
        throw new ServiceError(
          'conflict',
          `The expiration of key ${id} cannot be changed because key ${key.replacedBy} replaces it.`,
        );
      }
      const data: ApiKeyLimitsSet = { key_id: id };
      return {
        type: 'ApiKeyLimitsSet',
        workspace: key.workspace,
        data: { ...data, ...Object.fromEntries(changed.map((name) => [name, sent[name]])) },
      };
    });
  }

  /**
   * Sets the public keys with which the holder of a key requests access tokens, in place of those before; an empty list removes
   * all. Does nothing when already set so; `conflict` when the key is deleted.
   */
  async setPublicKeys(id: string, publicKeys: readonly PublicKey[]): Promise<void> {
    await this.#change((known) => {
      const key = requireLiving(known, id);
      if (isDeepStrictEqual(key.publicKeys ?? [], publicKeys)) return undefined;
      const data: ApiKeyPublicKeysSet = { key_id: id, public_keys: publicKeys };
      return { type: 'ApiKeyPublicKeysSet', workspace: key.workspace, data: { ...data } };
    });
  }

  /**
   * Creates a key of the same sender, with the same name, permissions, terms, limits and public keys, and lets the previous one expire in that
   * many seconds, at most 30 days, or when it would have expired anyway. The replacement of a key with a lifetime has the same lifetime.
   * `conflict` when the key is not in use: deactivated, deleted, expired, or already replaced.
   */
  async rotateKey(id: string, expiresInSeconds: number): Promise<RotatedKey> {
    if (!(expiresInSeconds >= 0 && expiresInSeconds <= MAX_ROTATION_SECONDS)) {
      throw new ServiceError('validation_failed', 'A rotated key must expire within 30 days.');
    }
    const now = Date.now();
    let made = { key: '', key_id: '', sha256: '' };
    let expiresAt = '';
    await this.#change((known) => {
      const key = requireInUse(known, id);
      const { workspace, name, permissions, publicKeys } = key;
      expiresAt = endOfReplaced(key, now + expiresInSeconds * 1000);
      made = newKey(requireRemaining(known, workspace));
      const { key: _key, ...stored } = made;
      const limits = limitsOf({ ...limitsOfKey(key), expires_at: endOfReplacement(key, now) });
      const replacement: ApiKeyCreated = {
        ...{ ...stored, name, permissions, ...key.terms, ...limits },
        ...(publicKeys && { public_keys: publicKeys }),
      };
      const data: ApiKeyRotated = { key_id: id, expires_at: expiresAt, replacement };
      return { type: 'ApiKeyRotated', workspace, data: { ...data } };
    });
    const replacement = requireKey(this.#directory.known, made.key_id);
    const { workspace, name, permissions } = replacement;
    return {
      ...{ id: made.key_id, workspace, name, permissions, ...limitsOfKey(replacement) },
      key: made.key,
      previousExpiresAt: expiresAt,
    };
  }

  /** Deactivates, activates or deletes a key; does nothing when already in that state. A deleted key stays deleted. */
  async setKeyState(id: string, state: ApiKey['state']): Promise<void> {
    const types = { active: 'ApiKeyActivated', deactivated: 'ApiKeyDeactivated', deleted: 'ApiKeyDeleted' };
    await this.#change((known) => {
      const key = requireKey(known, id);
      if (key.state === state) return undefined;
      requireLiving(known, id);
      return { type: types[state], workspace: key.workspace, data: { key_id: id } };
    });
  }

  #change(decide: (known: Readonly<KeyState>) => Change | undefined): Promise<void> {
    return this.#directory.change((known) => {
      const change = decide(known);
      if (change === undefined) return undefined;
      const event = newActorEvent(this.#actor, change.workspace, change.type, change.data);
      return change.eventId === undefined ? event : { ...event, id: change.eventId, isRepeat: true };
    });
  }
}

/** Returns a new key for a workspace, and what is stored of it. */
function newKey({ sandbox }: Workspace) {
  const key = sandbox ? generateTestKey() : generateApiKey();
  return { key, key_id: generateId('key'), sha256: hashApiKey(key) };
}

/** The workspace created on first start. */
const FIRST_WORKSPACE = 'default';

/** If the log has no workspace yet, creates one, with one key that has every permission. Otherwise does nothing. */
export async function createFirstKey(directory: KeyDirectory): Promise<CreatedKey | undefined> {
  if (directory.known.workspaces.size > 0) return undefined;
  const manager = new KeyManager(directory, { principal: { type: 'operator', id: 'first-start' } });
  return manager.createKey(FIRST_WORKSPACE, 'First key', [...permissions]);
}
