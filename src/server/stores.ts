import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { v7 as uuidv7 } from 'uuid';
import { projections } from '../../projections/index.ts';
import { modelName } from '../../projections/projection.ts';
import type { Position } from '../domain/events/event.ts';
import type { Actor, Caller } from '../domain/events/newEvent.ts';
import { INSTALLATION } from '../domain/events/streams.ts';
import type { KeyState } from '../modules/auth/apiKeys.ts';
import { KeyDirectory } from '../modules/auth/keyDirectory.ts';
import { KeyManager } from '../modules/auth/keyManager.ts';
import { permissions } from '../modules/auth/permissions.ts';
import { resetSecondFactor } from '../modules/auth/twoFactor.ts';
import { UserLinks, UserManager } from '../modules/auth/userManager.ts';
import { UserDirectory } from '../modules/auth/users.ts';
import { Consumers } from '../modules/eventStream/consumers.ts';
import type { SigningKey } from '../modules/integrity/publicKeys.ts';
import { Keyring } from '../modules/keyring.ts';
import { projectAll } from '../modules/projections/projector.ts';
import { PrincipalNames } from '../modules/records/queries/principalNames.ts';
import { WebhookManager } from '../modules/webhooks/manager.ts';
import { createEgressPolicy, type WebhookCaller } from '../modules/webhooks/settings.ts';
import { WebhookDirectory } from '../modules/webhooks/webhook.ts';
import { ConfigError, listeningAddress, loadConfig } from '../platform/config.ts';
import { asUnreadable, ServiceError } from '../platform/errors.ts';
import type { DocumentStore } from '../storage/documentStore.ts';
import type { EventLog } from '../storage/eventLog.ts';
import { systemClock } from '../storage/rateLimiters.ts';
import type { ReadModels } from '../storage/readModels.ts';
import { findSigningKey, managedKeys, openSigningKey } from './keys.ts';
import { openDocumentStore, openEventLog, openOwnStateStore, openReadModels, pathOf } from './openStorage.ts';
import { operator, operatorReason, requireReason } from './operator.ts';
import { type Terminal, terminal } from './terminal.ts';

/** The commands that fill the stores of a service. */
type Filling = 'restore' | 'migrate';

/** Path of the file that marks the contents of a data folder as incomplete. */
function markerOf(dataDir: string, command: Filling): string {
  return join(dataDir, `${command}-under-way`);
}

/** Marks the contents of a data folder as incomplete. Throws the file system's error. */
export function markFilling(dataDir: string, command: Filling): void {
  writeFileSync(markerOf(dataDir, command), '', { flush: true });
}

/** Marks the contents of the folder as complete. */
export function unmarkFilling(dataDir: string, command: Filling): void {
  rmSync(markerOf(dataDir, command), { force: true });
}

/** Whether a command that fills the stores of a data folder was not completed. */
export function isHalfFilled(dataDir: string, command: Filling): boolean {
  return existsSync(markerOf(dataDir, command));
}

/** Prevents any use of a data folder that contains half a backup, or half of what is moved there. Throws `ConfigError`. */
export function requireFilled(dataDir: string): void {
  if (isHalfFilled(dataDir, 'restore'))
    throw new ConfigError(
      `The restore into ${dataDir} was not completed. Run it again: chartledger restore.`,
    );
  if (isHalfFilled(dataDir, 'migrate'))
    throw new ConfigError(
      `The stores of ${dataDir} do not hold everything yet. Run chartledger migrate again, with the settings of the service that is moved.`,
    );
}

function movedMarker(dataDir: string): string {
  return join(dataDir, 'moved');
}

/** Notes in the data folder of a service that it was moved to other stores. Throws the file system's error. */
export function markMoved(dataDir: string): void {
  writeFileSync(movedMarker(dataDir), `${new Date().toISOString()}\n`, { flush: true });
}

/** Takes the note back. */
export function unmarkMoved(dataDir: string): void {
  rmSync(movedMarker(dataDir), { force: true });
}

/** Whether the data folder has the note. */
export function isMoved(dataDir: string): boolean {
  return existsSync(movedMarker(dataDir));
}

/** Prevents the start of a service that was moved to other stores. Throws `ConfigError`. */
export function requireNotMoved(dataDir: string): void {
  if (isMoved(dataDir))
    throw new ConfigError(
      `The service of ${dataDir} was moved to other stores with chartledger migrate. Start it with the settings of those. To continue here instead, without what was written there, delete ${movedMarker(dataDir)}.`,
    );
}

interface KeyTools {
  /** Workspaces and keys as they were when the command began, or after the last change. */
  known: Readonly<KeyState>;
  manager: KeyManager;
  /** The user who runs the command. */
  actor: Actor;
  eventLog: EventLog;
}

const settingUp = new WeakSet<Terminal>();

/** From now on missing stores are created, as on the first start of a service. */
export function setUpStores(): void {
  settingUp.add(terminal());
}

/** Returns the event log named by the environment, for display: a file's path, or a URL without secrets. */
export function eventLogName(): string {
  const { eventLogUrl } = loadConfig(terminal().env);
  if (eventLogUrl.startsWith('sqlite:')) return pathOf(eventLogUrl);
  return eventLogUrl.replace(/\/\/[^@]*@/, '//').replace(/\?.*$/, '');
}

/** `RETENTION_YEARS`, which applies to workspaces without their own retention. */
export function retentionSetting(): number | undefined {
  return loadConfig(terminal().env).retentionYears;
}

/** Prevents accidentally creating local stores beside a service that has its own elsewhere. */
function requireStore(path: string, what: string, setting: string): void {
  if (settingUp.has(terminal()) || existsSync(path)) return;
  throw new ServiceError(
    'not_found',
    `There is no ${what} at ${path}. Set ${setting} to the value that the service uses, or use --init to create one there.`,
  );
}

/** A key that is not set is in the data folder of the service. */
export function requireKeyFolder(set: string | undefined, dataDir: string): void {
  if (set === undefined) requireStore(dataDir, 'data folder', 'DATA_DIR');
}

/**
 * Runs `work` on the event log named by the environment, as a service would find it (`src/platform/config.ts`). A service may be running
 * on it. Rejects with what `work` rejects with, `ConfigError`, or `not_found` when there is none and `setUpStores` was not
 * called.
 */
export async function withEventLog<Result>(work: (eventLog: EventLog) => Promise<Result>): Promise<Result> {
  const { eventLogUrl, dataDir } = loadConfig(terminal().env);
  requireFilled(dataDir);
  if (eventLogUrl.startsWith('sqlite:')) {
    requireStore(pathOf(eventLogUrl), 'event log', 'DATA_DIR or EVENT_LOG_URL');
  }
  const eventLog = await openEventLog(eventLogUrl);
  try {
    return await work(eventLog);
  } finally {
    await eventLog.close();
  }
}

/** Runs `work` on the workspaces and keys of that event log. */
export function withKeys<Result>(work: (tools: KeyTools) => Promise<Result>): Promise<Result> {
  return withEventLog((eventLog) =>
    withClosing(KeyDirectory.open(eventLog), (directory) => {
      const actor = { principal: operator() };
      const manager = new KeyManager(directory, actor);
      return work({ known: directory.known, manager, actor, eventLog });
    }),
  );
}

export interface UserTools {
  users: UserDirectory;
  /** The ids of all workspaces. */
  workspaces: ReadonlySet<string>;
  manager: UserManager;
  links: UserLinks;
  /** Removes a user's second factor. */
  resetTotp(id: string): Promise<void>;
}

/** Returns the service's address for users: `PUBLIC_URL`, otherwise where a service with these settings listens. */
export function serviceAddress(): string {
  const { publicUrl, host, port } = loadConfig(terminal().env);
  return publicUrl ?? listeningAddress(host, port);
}

/** Runs `work` on the users of that event log. */
export function withUsers<Result>(work: (tools: UserTools) => Promise<Result>): Promise<Result> {
  return withEventLog((eventLog) =>
    withClosing(UserDirectory.open(eventLog), async (users) => {
      const actor = { principal: operator() };
      const workspaces = await withClosing(
        KeyDirectory.open(eventLog),
        async ({ known }) => known.workspaces,
      );
      return work({
        users,
        workspaces: new Set(workspaces.keys()),
        manager: new UserManager(users, actor),
        links: new UserLinks(users, actor),
        resetTotp: (id) => resetSecondFactor(users, id, actor),
      });
    }),
  );
}

/** What a command needs to read the data of a workspace. */
export interface WorkspaceTools {
  eventLog: EventLog;
  directory: KeyDirectory;
  names: PrincipalNames;
  /** The user who runs the command, for the audit trail. */
  caller: Caller;
}

/**
 * Runs `work` on one workspace of that event log; rejects with `not_found` when there is none with that id, and with
 * `reason_required` when the workspace requires a reason and none was stated.
 */
export function withWorkspace<Result>(
  workspace: string,
  work: (tools: WorkspaceTools) => Promise<Result>,
): Promise<Result> {
  return withTools(workspace, (tools) => {
    requireWorkspace(tools.directory, workspace);
    if (tools.directory.known.workspaces.get(workspace)?.reason === 'required') requireReason();
    return work(tools);
  });
}

/** Runs `work` on what belongs to no workspace in that event log: its users, and their sign-ins. */
export function withInstallation<Result>(work: (tools: WorkspaceTools) => Promise<Result>): Promise<Result> {
  return withTools(INSTALLATION, work);
}

function withTools<Result>(
  workspace: string,
  work: (tools: WorkspaceTools) => Promise<Result>,
): Promise<Result> {
  return withEventLog((eventLog) =>
    withClosing(KeyDirectory.open(eventLog), (directory) =>
      withClosing(UserDirectory.open(eventLog), async (users) => {
        const names = new PrincipalNames({ api_key: directory, user: users });
        return work({ eventLog, directory, names, caller: operatorOn(workspace) });
      }),
    ),
  );
}

/**
 * Runs `work` on what is to be verified: one workspace of that event log, or `INSTALLATION`; rejects with `not_found` when there
 * is none with that id. Damage that prevents reading workspaces or users does not prevent verification.
 */
export function withLogToVerify<Result>(
  workspace: string,
  work: (tools: Pick<WorkspaceTools, 'eventLog' | 'caller'>) => Promise<Result>,
): Promise<Result> {
  return withEventLog(async (eventLog) => {
    if (workspace !== INSTALLATION) {
      const check = async (directory: KeyDirectory) => requireWorkspace(directory, workspace);
      await withClosing(KeyDirectory.open(eventLog), check).catch(asUnreadable);
    }
    return work({ eventLog, caller: operatorOn(workspace) });
  });
}

function requireWorkspace({ known }: KeyDirectory, workspace: string): void {
  if (!known.workspaces.has(workspace))
    throw new ServiceError('not_found', `Workspace ${workspace} does not exist.`);
}

function operatorOn(workspace: string): Caller {
  const reason = operatorReason();
  const disclosedTo = reason === undefined ? undefined : { purpose_statement: reason };
  return { workspace, principal: operator(), requestId: uuidv7(), ...(disclosedTo && { disclosedTo }) };
}

/** Runs `work` on what was opened, and closes it whatever the outcome. */
async function withClosing<Opened extends { close(): void }, Result>(
  opening: Promise<Opened>,
  work: (opened: Opened) => Promise<Result>,
): Promise<Result> {
  const opened = await opening;
  try {
    return await work(opened);
  } finally {
    opened.close();
  }
}

/** Runs `work` on the document store named by the environment. */
export async function withDocumentStore<Result>(
  work: (store: DocumentStore) => Promise<Result>,
): Promise<Result> {
  const store = await openDocumentStore(loadConfig(terminal().env).documentsUrl);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Runs `work` on the read models named by the environment. */
export async function withReadModels<Result>(
  work: (readModels: ReadModels) => Promise<Result>,
): Promise<Result> {
  const readModels = await openReadModels(loadConfig(terminal().env).readModelUrl);
  try {
    return await work(readModels);
  } finally {
    await readModels.close();
  }
}

/**
 * Runs `work` on empty read models in a temporary file in the data folder. The file is removed afterwards; one that a killed process
 * left is deleted by hand.
 */
export async function withTemporaryModels<Result>(
  work: (readModels: ReadModels) => Promise<Result>,
): Promise<Result> {
  const path = join(loadConfig(terminal().env).dataDir, `verify-${uuidv7()}.db`);
  try {
    const readModels = await openReadModels(`sqlite:${encodeURIComponent(path)}`);
    return await work(readModels).finally(() => readModels.close());
  } finally {
    for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
  }
}

/**
 * Runs `work` on read models that are kept up to date with the event log meanwhile, including what `work` appends: by the service
 * that runs on it, or by this process when they stand still behind the log. Writes to read models are guarded by
 * positions, so both may write.
 */
export function withCurrentModels<Result>(
  eventLog: EventLog,
  work: (readModels: ReadModels) => Promise<Result>,
): Promise<Result> {
  return withReadModels((own) =>
    withReadModels(async (readModels) => {
      const stop = new AbortController();
      const keeping = projectWhileBehind(eventLog, own, stop.signal).catch(() => undefined);
      try {
        await untilCurrent(eventLog, readModels, keeping);
        return await work(readModels);
      } finally {
        stop.abort();
        await keeping;
      }
    }),
  );
}

/** How long read models stand still behind the log until no service seems to project. */
const STANDSTILL_MS = 500;
const POLL_MS = 50;

/** Projects until the signal, once the read models stand still behind the log. */
async function projectWhileBehind(
  eventLog: EventLog,
  readModels: ReadModels,
  signal: AbortSignal,
): Promise<void> {
  let before = 0;
  for (let since = performance.now(); performance.now() - since < STANDSTILL_MS; ) {
    const reached = await projectedUpTo(readModels);
    if (reached !== before || reached >= (await eventLog.head())) since = performance.now();
    before = reached;
    await sleep(POLL_MS, undefined, { signal });
  }
  const ports = { eventLog, readModels, onParked: () => undefined, onMismatch: () => undefined };
  await projectAll(projections, ports, signal);
}

/** Resolves when the read models hold what the log held at the call, or are no longer kept: what waits for them then says so. */
async function untilCurrent(
  eventLog: EventLog,
  readModels: ReadModels,
  keeping: Promise<void>,
): Promise<void> {
  const head = await eventLog.head();
  const ended = keeping.then(() => true);
  while ((await projectedUpTo(readModels)) < head) {
    if (await Promise.race([ended, sleep(POLL_MS, false)])) return;
  }
}

async function projectedUpTo(readModels: ReadModels): Promise<Position> {
  return Math.min(...(await Promise.all(projections.map((one) => readModels.checkpoint(modelName(one))))));
}

/** Runs `work` on that event log and those read models. */
export function withStores<Result>(
  work: (eventLog: EventLog, readModels: ReadModels) => Promise<Result>,
): Promise<Result> {
  return withEventLog((eventLog) => withReadModels((readModels) => work(eventLog, readModels)));
}

/** Runs `work` on the webhooks of one workspace; rejects with `not_found` when there is none with that id. */
export function withWebhooks<Result>(
  workspace: string,
  work: (
    manager: WebhookManager,
    caller: WebhookCaller,
    ports: { eventLog: EventLog; consumers: Consumers },
  ) => Promise<Result>,
): Promise<Result> {
  const config = loadConfig(terminal().env);
  return withWorkspace(workspace, ({ eventLog, directory: keys, names, caller }) =>
    withReadModels(async (readModels) => {
      const stateStore = await openOwnStateStore(config, eventLog);
      const directory = await WebhookDirectory.open(eventLog);
      const knownKeys = new Keyring(eventLog, managedKeys(config));
      try {
        const manager = new WebhookManager({
          eventLog,
          readModels,
          stateStore,
          directory,
          keys,
          names,
          addresses: createEgressPolicy(config.webhookAllowNetworks),
          secretsKeys: async (isNow) => {
            requireKeyFolder(config.webhookSecretsKey, config.dataDir);
            return knownKeys.all('webhookSecrets', isNow);
          },
        });
        const consumers = new Consumers({ stateStore, clock: systemClock });
        return await work(manager, { ...caller, permissions }, { eventLog, consumers });
      } finally {
        directory.close();
        await stateStore.close();
      }
    }),
  );
}

/** Returns the signing key, as `findSigningKey` does, if it is available here. */
export function ownSigningKey(eventLog: EventLog): Promise<SigningKey | undefined> {
  return findSigningKey(eventLog, loadConfig(terminal().env), false);
}

/** Returns the current key for signing exports and tree heads, as `openSigningKey` does. */
export async function loadSigningKey(eventLog: EventLog): Promise<SigningKey> {
  const config = loadConfig(terminal().env);
  requireKeyFolder(config.signingKey, config.dataDir);
  return openSigningKey(eventLog, config);
}
