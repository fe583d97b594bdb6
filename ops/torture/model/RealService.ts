import { randomBytes } from 'node:crypto';
import { Agent } from 'node:http';
import { KeyDirectory } from '../../../src/modules/auth/keyDirectory.ts';
import { type CreatedKey, KeyManager } from '../../../src/modules/auth/keyManager.ts';
import type { Permission } from '../../../src/modules/auth/permissions.ts';
import { createLogger } from '../../../src/platform/logging.ts';
import { openEventLog } from '../../../src/server/openStorage.ts';
import { type Service, startService } from '../../../src/server/service.ts';
import type { EventLog } from '../../../src/storage/eventLog.ts';

import { eventually } from '../../../test/support/eventually.ts';
import type { Stores } from '../../bench/support/chartledger.ts';
import { bodyOf, type Request, send } from '../support/send.ts';
import type { KeyName, KeyState } from './requests.ts';

const granted: [KeyName, Permission[]][] = [
  ['both', ['write', 'read']],
  ['writes', ['write']],
  ['reads', ['read']],
];

/**
 * A service in this process, which is restarted when a model says so; each run of the model has a workspace of its
 * own.
 */
export class RealService {
  readonly stores: Stores;
  workspace = '';
  readonly #agent = new Agent({ keepAlive: true });
  readonly #eventLog: EventLog;
  readonly #directory: KeyDirectory;
  readonly #manager: KeyManager;
  #service: Service | undefined;
  #keys = new Map<KeyName, CreatedKey>();
  /** The key used to ask whether the service has learnt of a change. */
  #observer = '';

  private constructor(stores: Stores, eventLog: EventLog, directory: KeyDirectory) {
    this.stores = stores;
    this.#eventLog = eventLog;
    this.#directory = directory;
    this.#manager = new KeyManager(directory, { principal: { type: 'operator', id: 'torture' } });
  }

  static async open(stores: Stores): Promise<RealService> {
    const eventLog = await openEventLog(stores.config.eventLogUrl);
    const service = new RealService(stores, eventLog, await KeyDirectory.open(eventLog));
    await service.start();
    return service;
  }

  async start(): Promise<void> {
    this.#service = await startService(
      this.stores.config,
      createLogger('silent', { write: () => undefined }),
    );
  }

  async restart(): Promise<void> {
    await this.#service?.stop();
    await this.start();
  }

  async close(): Promise<void> {
    this.#agent.destroy();
    await this.#service?.stop();
    this.#directory.close();
    await this.#eventLog.close();
  }

  /** Begins with an empty workspace, and its keys. */
  async begin(): Promise<void> {
    this.workspace = `model_${randomBytes(6).toString('hex')}`;
    this.#keys = new Map();
    for (const [name] of granted) await this.newKey(name);
    const { key } = await this.#manager.createKey(this.workspace, 'Observer', ['write', 'read']);
    this.#observer = key;
  }

  async newKey(name: KeyName): Promise<void> {
    const [, permissions = []] = granted.find(([known]) => known === name) ?? [];
    this.#keys.set(name, await this.#manager.createKey(this.workspace, name, permissions));
  }

  /** Changes a key; resolves when the service knows. Rejects with `conflict` where that is not possible. */
  async setKey(name: KeyName, state: KeyState): Promise<void> {
    const { id, key } = this.#keys.get(name) as CreatedKey;
    await this.#manager.setKeyState(id, state);
    const told = { active: undefined, deactivated: 'key_deactivated', deleted: 'unauthorized' }[state];
    const known = ['key_deactivated', 'unauthorized'];
    await this.#until(key, (code) => (told === undefined ? !known.includes(code) : code === told));
  }

  async setWorkspace(state: 'active' | 'deactivated'): Promise<void> {
    await this.#manager.setWorkspaceState(this.workspace, state);
    const isDeactivated = state === 'deactivated';
    await this.#until(this.#observer, (code) => (code === 'workspace_deactivated') === isDeactivated);
  }

  /** Sends a request with a key; without its name, as the observer. */
  send(request: Request, key?: KeyName) {
    const credential = key === undefined ? this.#observer : (this.#keys.get(key)?.key ?? 'clk_unknown');
    const headers = { ...request.headers, 'x-api-key': credential };
    return send(this.#service?.url as string, this.#agent, { ...request, headers });
  }

  async #until(key: string, isKnown: (code: string) => boolean): Promise<void> {
    await eventually(async () => {
      const path = '/integration/payers/none';
      const answer = await send(this.#service?.url as string, false, { path, headers: { 'x-api-key': key } });
      if (!isKnown(bodyOf(answer).code)) throw new Error('the service has not heard of the change');
    });
  }
}
