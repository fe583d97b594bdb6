import { join } from 'node:path';
import { projections } from '../../projections/index.ts';
import { modelName } from '../../projections/projection.ts';
import type { OnProgress } from '../modules/backup/contents.ts';
import type { ServiceKeys } from '../modules/backup/format.ts';
import {
  type CopiedPart,
  type Moved,
  moveStores,
  type SourceStores,
  surveyStores,
  type TargetStores,
} from '../modules/backup/migrate.ts';
import { CLEANING_LEASE } from '../modules/webhooks/dispatcher.ts';
import { type Config, ConfigError, loadConfig } from '../platform/config.ts';
import { unavailable } from '../platform/errors.ts';
import { secretFile } from '../storage/engines/filesystem/files.ts';
import { fileProblem, makeOwnedFolders } from '../storage/engines/shared.ts';
import { backedUpTables } from './backup.ts';
import { fullPlace } from './emptyStores.ts';
import { withExclusiveLock, withLeases } from './exclusiveLock.ts';
import { findKeys, keyFiles, openSigningKey, unsetKeyFiles } from './keys.ts';
import {
  acceptsLogCopy,
  isMissing,
  openDocumentStore,
  openLogCopy,
  openOwnStateStore,
  openReadModels,
  openStateStore,
} from './openStorage.ts';
import { operator } from './operator.ts';
import { PROJECTOR_LEASE } from './runProjector.ts';
import {
  isHalfFilled,
  isMoved,
  markFilling,
  markMoved,
  requireKeyFolder,
  unmarkFilling,
  unmarkMoved,
  withDocumentStore,
  withEventLog,
} from './stores.ts';
import { terminal } from './terminal.ts';
import { HEADS_LEASE } from './treeHeads.ts';

/** The settings of the service that is moved, and of the one that it becomes. */
interface Move {
  from: Config;
  to: Config;
}

/** The settings of the service to move to, and the file that they were read from. */
export interface NewSettings {
  file: string;
  env: Record<string, string | undefined>;
}

/**
 * Moves the service named by the environment to the empty stores that other settings name, or continues with it. If the service is
 * running, copies what it holds and leaves the rest to another run. Rejects with `ConfigError` when the settings do not allow it;
 * and as `moveStores` does.
 */
export async function migrate(settings: NewSettings, onProgress: OnProgress): Promise<Moved> {
  const move = readMove(settings);
  const { from, to } = move;
  return withSource(from, (source) =>
    withExclusiveLock(from.stateUrl, 'migrate', async () => {
      await requireAccepted(move, settings.file, source);
      // Created if there is none, so that it is moved.
      await openSigningKey(source.eventLog, from);
      const keys = await requireKeys(move, settings.file);
      const identity = await source.eventLog.identity();
      inFolder(to, () => {
        makeOwnedFolders(to.dataDir);
        markFilling(to.dataDir, 'migrate');
      });
      const done = await withTarget(to, identity, (target) => fill(move, source, target, keys, onProgress));
      if (done.isComplete) inFolder(to, () => unmarkFilling(to.dataDir, 'migrate'));
      return done;
    }),
  );
}

/** Returns what a move would copy, and checks what it would be refused for. Writes to no store. Rejects as `migrate` does. */
export async function rehearseMigration(settings: NewSettings, onProgress: OnProgress): Promise<CopiedPart> {
  const move = readMove(settings);
  return withSource(move.from, async (source) => {
    await requireAccepted(move, settings.file, source);
    return surveyStores(source, onProgress);
  });
}

/** The leases that processes of a service hold while it is running. */
const serviceLeases = [PROJECTOR_LEASE, HEADS_LEASE, CLEANING_LEASE];

async function fill(
  { from, to }: Move,
  source: SourceStores,
  target: TargetStores,
  keys: ServiceKeys,
  onProgress: OnProgress,
): Promise<Moved> {
  return withLeases(from.stateUrl, serviceLeases, (isStopped) =>
    moveStores(source, target, {
      tables: backedUpTables,
      principal: operator(),
      isStopped,
      isFenced: () => isMoved(from.dataDir),
      fence: () => inFolder(from, () => markMoved(from.dataDir)),
      unfence: () => inFolder(from, () => unmarkMoved(from.dataDir)),
      async writeKeys() {
        for (const file of unsetKeyFiles(to)) {
          const key = keys.get(file);
          if (key) await secretFile(join(to.dataDir, file), () => key);
        }
      },
      onProgress,
    }),
  );
}

/** Returns the settings of both services. Throws `ConfigError` when they name the same store. */
function readMove({ file, env }: NewSettings): Move {
  const from = loadConfig(terminal().env);
  const to = loadConfig(env);
  const same = (
    [
      ['DATA_DIR', from.dataDir === to.dataDir],
      ['EVENT_LOG_URL', from.eventLogUrl === to.eventLogUrl],
      ['STATE_URL', from.stateUrl === to.stateUrl],
      ['DOCUMENTS_URL', from.documentsUrl === to.documentsUrl],
    ] as const
  ).find(([, isSame]) => isSame);
  if (same) throw new ConfigError(`${same[0]} in ${file} must name another place than that of the service.`);
  const drivers = [from, to].map(({ eventLogUrl }) => /^(esdb|kurrentdb)/.exec(eventLogUrl)?.[0]);
  if (drivers[0] && drivers[1] && drivers[0] !== drivers[1])
    throw new ConfigError(
      'A service cannot be moved between EventStoreDB and KurrentDB in one step. Move it to SQLite first.',
    );
  return { from, to };
}

/** Rejects with `ConfigError` when the new settings do not fit the service, or their stores are neither empty nor half filled. */
async function requireAccepted(move: Move, file: string, { eventLog }: SourceStores): Promise<void> {
  await requireKeys(move, file);
  if (!isHalfFilled(move.to.dataDir, 'migrate')) await requireEmpty(move.to, await eventLog.identity());
}

/** Returns the keys of the service. Rejects with `ConfigError` when the new settings have other ones, or lack one. */
async function requireKeys({ from, to }: Move, file: string): Promise<ServiceKeys> {
  const keys = await findKeys(from);
  const there = await findKeys(to);
  const copied = new Set(unsetKeyFiles(to));
  for (const [name, key] of keys) {
    const other = there.get(name);
    if (other === undefined ? copied.has(name) : other.equals(key)) continue;
    throw new ConfigError(
      `The key that the service has as ${name} is another one in ${file}, or is missing there. Set it to the same value, or leave out the setting: the key is then written to DATA_DIR.`,
    );
  }
  return keys;
}

/** Rejects with `ConfigError` when a store of the new service is not empty. */
async function requireEmpty(to: Config, identity: string): Promise<void> {
  const full =
    fullPlace(to, keyFiles) ??
    ((await acceptsLogCopy(to.eventLogUrl, identity)) ? undefined : 'The server in EVENT_LOG_URL') ??
    ((await hasState(to)) ? 'The database in STATE_URL' : undefined) ??
    ((await hasReadModels(to)) ? 'The database in READ_MODEL_URL' : undefined) ??
    ((await hasDocuments(to)) ? 'The place in DOCUMENTS_URL' : undefined);
  if (full === undefined) return;
  throw new ConfigError(`${full} is not empty. A service can be moved only to empty stores.`);
}

async function hasState({ stateUrl }: Config): Promise<boolean> {
  if (isMissing(stateUrl)) return false;
  const stateStore = await openStateStore(stateUrl);
  try {
    for (const table of backedUpTables)
      if ((await stateStore.scan(table, { limit: 1 })).length > 0) return true;
    return false;
  } finally {
    await stateStore.close();
  }
}

async function hasReadModels({ readModelUrl }: Config): Promise<boolean> {
  if (isMissing(readModelUrl)) return false;
  const readModels = await openReadModels(readModelUrl);
  try {
    const built = await Promise.all(projections.map((one) => readModels.builtFrom(modelName(one))));
    return built.some((log) => log !== undefined);
  } finally {
    await readModels.close();
  }
}

async function hasDocuments({ documentsUrl }: Config): Promise<boolean> {
  if (isMissing(documentsUrl)) return false;
  const documentStore = await openDocumentStore(documentsUrl);
  try {
    return (await documentStore.log()) !== undefined;
  } finally {
    await documentStore.close();
  }
}

/** Runs `work` on the stores of the service. */
function withSource<Result>(from: Config, work: (source: SourceStores) => Promise<Result>): Promise<Result> {
  requireKeyFolder(from.signingKey, from.dataDir);
  return withEventLog((eventLog) =>
    withDocumentStore(async (documentStore) => {
      const stateStore = await openOwnStateStore(from, eventLog);
      try {
        return await work({ eventLog, documentStore, stateStore });
      } finally {
        await stateStore.close();
      }
    }),
  );
}

/** Runs `work` on the stores that the service is moved to. */
async function withTarget<Result>(
  { eventLogUrl, stateUrl, documentsUrl }: Config,
  identity: string,
  work: (target: TargetStores) => Promise<Result>,
): Promise<Result> {
  const closing: { close(): Promise<void> }[] = [];
  const opened = async <Store extends { close(): Promise<void> }>(opening: Promise<Store>) => {
    const store = await opening;
    closing.push(store);
    return store;
  };
  try {
    const log = await opened(openLogCopy(eventLogUrl, identity));
    const stateStore = await opened(openStateStore(stateUrl));
    const documentStore = await opened(openDocumentStore(documentsUrl));
    return await work({ log, stateStore, documentStore });
  } finally {
    for (const store of closing.reverse()) await store.close();
  }
}

/** Runs `work`, which writes to a data folder. Throws `unavailable` when that fails. */
function inFolder({ dataDir }: Config, work: () => void): void {
  try {
    work();
  } catch (error) {
    throw unavailable('data folder', error, fileProblem(dataDir, error));
  }
}
