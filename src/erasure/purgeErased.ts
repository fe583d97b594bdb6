import { setTimeout as sleep } from 'node:timers/promises';
import { documentsModel } from '../../projections/documents.ts';
import { encountersModel } from '../../projections/encounters.ts';
import { projections } from '../../projections/index.ts';
import { modelName } from '../../projections/projection.ts';
import { readinessModel } from '../../projections/readinessModel.ts';
import { recordsModel } from '../../projections/records.ts';
import { unavailable } from '../errors.ts';
import type { ReadModels } from '../ports/readModels.ts';
import type { StateStore } from '../ports/stateStore.ts';
import { caughtUp } from '../reads/page.ts';
import type { QueryPorts } from '../reads/readRecord.ts';

const TRIES = 100;
const PAUSE_MS = 100;

/**
 * Purges erased data from all files of the stores, once the read models have caught up; an event log whose server scavenges is
 * left to that. Rejects with `unavailable` when readers hold a file for more than ten seconds, or a read model does not advance.
 */
export async function purgeErased({
  eventLog,
  readModels,
  stateStore,
}: QueryPorts & { stateStore: StateStore }): Promise<void> {
  const models = [recordsModel, encountersModel, documentsModel, readinessModel];
  await Promise.all(models.map((model) => caughtUp({ eventLog, readModels }, model)));
  await dropEarlierVersions(readModels);
  await purged('read model store', () => readModels.purge());
  await purged('state store', () => stateStore.purge());
  if (!eventLog.scavenges) await purged('event log', () => eventLog.purge());
}

/** Drops the read models of earlier versions of the service, which nothing maintains. */
async function dropEarlierVersions(readModels: ReadModels): Promise<void> {
  for (const projection of projections) {
    for (let version = 1; version < projection.version; version++) {
      await readModels.drop(modelName({ ...projection, version }));
    }
  }
}

/** Purges a store until nothing is left. Rejects with `unavailable` when readers hold its file for more than ten seconds. */
export async function purged(store: string, purge: () => Promise<boolean>): Promise<void> {
  for (let tries = 1; !(await purge()); tries++) {
    if (tries === TRIES) throw unavailable(store);
    await sleep(PAUSE_MS);
  }
}
