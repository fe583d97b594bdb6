import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { documentSearchModel } from '../../../projections/documentSearch.ts';
import { models } from '../../../projections/index.ts';
import { readinessModel, rebuildOf } from '../../../projections/projection.ts';
import { documentsModel, encountersModel, recordsModel } from '../../../projections/records.ts';
import type { Position } from '../../domain/events/event.ts';
import { unavailable } from '../../platform/errors.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import type { StateStore, StateTable } from '../../storage/stateStore.ts';
import { untilReached } from '../records/queries/paging.ts';
import type { QueryPorts } from '../records/queries/records.ts';

/**
 * Decides how often erased data is purged from the stores' files. A purge reads the whole file of the read models, in small steps
 * between which requests are served. After a purge, none begins for as long as it took: erasures accumulate, and a caller waits for two
 * purges at most.
 */
export class Throttle {
  readonly #now: () => number;
  #nextAt = 0;

  /** `now` returns milliseconds that never decrease. */
  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  get isDue(): boolean {
    return this.#now() >= this.#nextAt;
  }

  /** Awaits a purge, and schedules the next one by its duration. Rejects as the purge does; another one is then due at once. */
  async during(purge: Promise<void>): Promise<void> {
    const begun = this.#now();
    await purge;
    const ended = this.#now();
    this.#nextAt = ended + (ended - begun);
  }
}

/** A rebuild that does not advance for this long was cut off. */
const CUT_OFF_MS = 10_000;

/**
 * Drops the read models that nothing maintains any more: those of earlier versions of the service, and what rebuilds have left that
 * were cut off. Rejects with `unavailable` while a rebuild is under way, as it may hold what is erased.
 */
export async function deleteOrphans(readModels: ReadModels, cutOffMs = CUT_OFF_MS): Promise<void> {
  for (const earlier of models.flatMap(earlierVersions)) await readModels.drop(earlier);
  const rebuilds: string[] = [];
  for (const rebuild of models.map(rebuildOf)) {
    if ((await readModels.builtFrom(rebuild)) !== undefined) rebuilds.push(rebuild);
  }
  if (rebuilds.length === 0) return;
  const positions = () => Promise.all(rebuilds.map((rebuild) => readModels.checkpoint(rebuild)));
  const before = await positions();
  await sleep(cutOffMs);
  const after = await positions();
  if (after.some((position, index) => position !== before[index])) throw unavailable('read model store');
  for (const rebuild of rebuilds) await readModels.drop(rebuild);
}

function earlierVersions(model: string): string[] {
  const [, name, version] = /^(.+_v)(\d+)$/.exec(model) ?? [];
  return Array.from({ length: Number(version) - 1 }, (_, index) => `${name}${index + 1}`);
}

/** Up to which tombstones the stores' files are purged, for each log, by its identity. If lost, they are purged again. */
export const purgesTable: StateTable<{ position: Position }> = {
  name: 'purges_v1',
  body: z.object({ position: z.number() }),
};

/** Read models that contain what was sent about records. */
const purgedModels = [recordsModel, encountersModel, documentsModel, documentSearchModel, readinessModel];
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
  await deleteOrphans(readModels);
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

/** Also with events that a read model does not take: one that was reset may still hold what it had. */
async function modelsCaughtUp({ eventLog, readModels }: QueryPorts): Promise<void> {
  const head = await eventLog.head();
  await Promise.all(purgedModels.map((model) => untilReached(readModels, model, head, 'list')));
}
