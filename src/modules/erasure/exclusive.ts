import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { unavailable } from '../../platform/errors.ts';
import { ignoreUnavailable, pause } from '../../platform/retry.ts';
import type { StateRow, StateStore, StateTable } from '../../storage/stateStore.ts';

/** Erasures that a process carries out at the moment. If lost, two may carry out the same one, which takes them longer. */
const runningTable: StateTable<Record<never, never>> = { name: 'erasures_running_v1', body: z.object({}) };

const RENEW_MS = 1_000;
/** A process that has not renewed its row for this long is gone. */
const EXPIRE_MS = 5_000;
const ASK_MS = 100;

function rowOf(id: string, revision: number): StateRow<Record<never, never>> {
  return { id, partition: id, order: 0, revision, body: {} };
}

/**
 * Does `work` on an erasure while no other process does; waits for one that does, or until it has been gone for five seconds. Clocks
 * of different machines are not compared. Rejects as `work` does, and with `unavailable`, also at the signal.
 */
export async function exclusively<Result>(
  stateStore: StateStore,
  id: string,
  work: () => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  let revision = await acquire(stateStore, id, signal);
  const ended = new AbortController();
  const renewing = (async () => {
    for (;;) {
      await pause(RENEW_MS, ended.signal);
      if (ended.signal.aborted) return;
      const next = rowOf(id, revision + 1);
      const isRenewed = await ignoreUnavailable(stateStore.swap(runningTable, next, revision));
      if (isRenewed) revision += 1;
    }
  })();
  try {
    return await work();
  } finally {
    ended.abort();
    await renewing;
    await ignoreUnavailable(stateStore.remove(runningTable, [id], revision));
  }
}

/** Resolves with the revision of the row that this process has written. */
async function acquire(stateStore: StateStore, id: string, signal?: AbortSignal): Promise<number> {
  let known: number | undefined;
  let knownSince = 0;
  for (;;) {
    if (signal?.aborted) throw unavailable('erasure');
    const [row] = await stateStore.load(runningTable, [id]);
    if (row?.revision !== known) knownSince = performance.now();
    known = row?.revision;
    if (known === undefined || performance.now() - knownSince > EXPIRE_MS) {
      const next = rowOf(id, (known ?? 0) + 1);
      if (await stateStore.swap(runningTable, next, known)) return next.revision;
    }
    await sleep(ASK_MS);
  }
}
