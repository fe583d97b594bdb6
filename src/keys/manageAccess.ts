import { v7 as uuidv7 } from 'uuid';
import { ServiceError } from '../errors.ts';
import type { NewEvent } from '../ports/eventLog.ts';
import type { Principal } from '../records/eventMetadata.ts';
import { WORKSPACE_ID } from '../records/streamNames.ts';
import { currentVersion } from '../records/upcast.ts';
import type { AccessDirectory } from './AccessDirectory.ts';
import { type Access, type ApiKey, type ApiKeyCreated, type Permission, permissions } from './access.ts';
import { generateApiKey, generateId, hashApiKey } from './apiKey.ts';

interface Change {
  type: string;
  workspace: string;
  data: Record<string, unknown>;
}

/** A key just made; `key` is shown this once and stored nowhere. */
export interface CreatedKey extends Pick<ApiKey, 'id' | 'workspace' | 'name' | 'permissions'> {
  key: string;
}

const MAX_NAME_LENGTH = 100;

/**
 * Changes to workspaces and API keys. Each is decided on the whole access stream and appended only if nobody changed
 * it meanwhile; otherwise it is decided again. Impossible changes reject with `not_found`, `conflict` or
 * `validation_failed`.
 */
export class AccessManager {
  readonly #directory: AccessDirectory;
  readonly #principal: Principal;

  constructor(directory: AccessDirectory, principal: Principal) {
    this.#directory = directory;
    this.#principal = principal;
  }

  /** Makes a workspace; `conflict` when there is one of that id. */
  async createWorkspace(id: string): Promise<void> {
    await this.#change((access) => {
      checkWorkspaceId(id);
      if (access.workspaces.has(id)) throw new ServiceError('conflict', `Workspace ${id} exists already.`);
      return { type: 'WorkspaceCreated', workspace: id, data: { workspace: id } };
    });
  }

  /** Deactivates or activates a workspace; no change when it is so already. */
  async setWorkspaceState(id: string, state: 'active' | 'deactivated'): Promise<void> {
    await this.#change((access) => {
      const workspace = access.workspaces.get(id);
      if (!workspace) throw new ServiceError('not_found', `There is no workspace ${id}.`);
      if (workspace.state === state) return undefined;
      const type = state === 'active' ? 'WorkspaceActivated' : 'WorkspaceDeactivated';
      return { type, workspace: id, data: { workspace: id } };
    });
  }

  /** Makes a key, and its workspace when that is missing. */
  async createKey(workspace: string, name: string, granted: Permission[]): Promise<CreatedKey> {
    if (name.length === 0 || name.length > MAX_NAME_LENGTH) {
      throw new ServiceError(
        'validation_failed',
        `The name of a key has 1 to ${MAX_NAME_LENGTH} characters.`,
      );
    }
    const chosen = permissions.filter((permission) => granted.includes(permission));
    await this.#change((access) => {
      checkWorkspaceId(workspace);
      if (access.workspaces.has(workspace)) return undefined;
      return { type: 'WorkspaceCreated', workspace, data: { workspace } };
    });
    const key = generateApiKey();
    const id = generateId('key');
    const data: ApiKeyCreated = { key_id: id, name, permissions: chosen, sha256: hashApiKey(key) };
    await this.#change(() => ({ type: 'ApiKeyCreated', workspace, data: { ...data } }));
    return { id, workspace, name, permissions: chosen, key };
  }

  /** Deactivates, activates or deletes a key; no change when it is so already. A deleted key stays deleted. */
  async setKeyState(id: string, state: ApiKey['state']): Promise<void> {
    const types = { active: 'ApiKeyActivated', deactivated: 'ApiKeyDeactivated', deleted: 'ApiKeyDeleted' };
    await this.#change((access) => {
      const key = access.keys.get(id);
      if (!key) throw new ServiceError('not_found', `There is no key ${id}.`);
      if (key.state === state) return undefined;
      if (key.state === 'deleted')
        throw new ServiceError('conflict', `Key ${id} is deleted; that is permanent.`);
      return { type: types[state], workspace: key.workspace, data: { key_id: id } };
    });
  }

  #change(decide: (access: Readonly<Access>) => Change | undefined): Promise<void> {
    return this.#directory.change((access) => {
      const change = decide(access);
      return change && this.#event(change);
    });
  }

  #event({ type, workspace, data }: Change): NewEvent {
    const requestId = uuidv7();
    return {
      id: uuidv7(),
      type,
      data,
      metadata: {
        workspace,
        principal: this.#principal,
        requestId,
        $correlationId: requestId,
        schemaVersion: currentVersion(type),
      },
    };
  }
}

function checkWorkspaceId(id: string): void {
  if (WORKSPACE_ID.test(id)) return;
  throw new ServiceError(
    'validation_failed',
    'The id of a workspace has 2 to 40 characters: lower-case letters, digits, underscores.',
  );
}
