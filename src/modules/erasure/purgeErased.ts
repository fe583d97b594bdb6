import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { documentsModel } from '../../../projections/documents.ts';
import { encountersModel } from '../../../projections/encounters.ts';
import { readinessModel } from '../../../projections/readinessModel.ts';
import { recordsModel } from '../../../projections/records.ts';
import { searchModel } from '../../../projections/search.ts';
import type { Position } from '../../domain/events/event.ts';
import { unavailable } from '../../platform/errors.ts';
import type { StateStore, StateTable } from '../../storage/stateStore.ts';
import { caughtUp } from '../records/queries/page.ts';
import type { QueryPorts } from '../records/queries/readRecord.ts';
import { dropLeftovers } from './dropLeftovers.ts';

/** Up to which tombstones the stores' files are purged, for each log, by its identity. If lost, they are purged again. */
export const purgesTable: StateTable<{ position: Position }> = {
  name: 'purges_v1',
  body: z.object({ position: z.number() }),
};

/** Read models that contain what was sent about records. */
const models = [recordsModel, encountersModel, documentsModel, searchModel, readinessModel];
const ASK_MS = 200;
/** The service rests between purges, the longer the larger the files. */
const WAIT_MS = 300_000;

export interface PurgePorts extends QueryPorts {
  stateStore: StateStore;
}

/**
 * Purges erased data from all files of the stores, once the read models have caught up; an event log whose server scavenges is
 * left to that. Only the leader of the projectors does so: two of them would hold each other up. Rejects with `unavailable` when
 * readers hold a file for more than ten seconds, a read model does not advance, one is being rebuilt, and at the signal.
 */
export async function purgeErased(ports: PurgePorts, signal?: AbortSignal): Promise<void> {
  const { eventLog, readModels, stateStore } = ports;
  await modelsCaughtUp(ports);
  await dropLeftovers(readModels);
  await readModels.purge(signal);
  await stateStore.purge(signal);
  await eventLog.purge();
}

/**
 * Resolves once the service has purged everything erased up to a position from the stores' files. Rejects with `unavailable` when
 * the read models lag, as when no service is running, or after five minutes: the service continues then.
 */
export async function untilPurged(ports: PurgePorts, position: Position): Promise<void> {
  const { eventLog, stateStore } = ports;
  await modelsCaughtUp(ports);
  const log = await eventLog.identity();
  for (const until = performance.now() + WAIT_MS; ; await sleep(ASK_MS)) {
    const [row] = await stateStore.load(purgesTable, [log]);
    if (row && row.body.position >= position) return;
    if (performance.now() > until) throw unavailable('purge');
  }
}

async function modelsCaughtUp(ports: QueryPorts): Promise<void> {
  await Promise.all(models.map((model) => caughtUp(ports, model)));
}
