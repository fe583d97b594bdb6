import { setTimeout as sleep } from 'node:timers/promises';
import { documentsModel } from '../../projections/documents.ts';
import { encountersModel } from '../../projections/encounters.ts';
import { readinessModel } from '../../projections/readinessModel.ts';
import { recordsModel } from '../../projections/records.ts';
import { searchModel } from '../../projections/search.ts';
import { unavailable } from '../errors.ts';
import type { StateStore } from '../ports/stateStore.ts';
import { caughtUp } from '../reads/page.ts';
import type { QueryPorts } from '../reads/readRecord.ts';
import { dropLeftovers } from './dropLeftovers.ts';

const TRIES = 100;
const PAUSE_MS = 100;

/**
 * Purges erased data from all files of the stores, once the read models have caught up; an event log whose server scavenges is
 * left to that. Rejects with `unavailable` when readers hold a file for more than ten seconds, a read model does not advance, or one
 * is being rebuilt.
 */
export async function purgeErased({
  eventLog,
  readModels,
  stateStore,
}: QueryPorts & { stateStore: StateStore }): Promise<void> {
  const models = [recordsModel, encountersModel, documentsModel, searchModel, readinessModel];
  await Promise.all(models.map((model) => caughtUp({ eventLog, readModels }, model)));
  await dropLeftovers(readModels);
  await purged('read model store', () => readModels.purge());
  await purged('state store', () => stateStore.purge());
  if (!eventLog.scavenges) await purged('event log', () => eventLog.purge());
}

/** Purges a store until nothing is left. Rejects with `unavailable` when readers hold its file for more than ten seconds. */
export async function purged(store: string, purge: () => Promise<boolean>): Promise<void> {
  for (let tries = 1; !(await purge()); tries++) {
    if (tries === TRIES) throw unavailable(store);
    await sleep(PAUSE_MS);
  }
}
