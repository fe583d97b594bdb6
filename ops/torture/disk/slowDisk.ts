import { setTimeout as sleep } from 'node:timers/promises';
import { makeStores } from '../../bench/support/chartledger.ts';
import { compileSyncLibrary, SyncGauge } from '../../bench/support/syncs/syncGauge.ts';
import type { Outcome, Torture } from '../scenario.ts';
import { disturbed } from '../support/disturbed.ts';

/** Milliseconds per sync: slow, and longer than the service waits for a commit. */
const SYNCS_MS = [100, 4_000, 0];

/** Each sync takes long, then longer than the service waits, then its usual time. */
export async function slowDisk(torture: Torture): Promise<Outcome> {
  const library = compileSyncLibrary(torture.folder);
  if (library === undefined) return { leftOut: 'there is no cc', figures: [], failures: [] };
  const stores = await makeStores(torture, { RATE_LIMIT_PER_MINUTE: '0' }, ['write', 'read']);
  const gauge = new SyncGauge(library, stores.folder, 'torture');
  return disturbed(torture, {
    stores,
    env: gauge.env,
    async disturb() {
      for (const least of SYNCS_MS) {
        gauge.takeAtLeast(least);
        await sleep(torture.short ? 5_000 : 30_000);
      }
      return { figures: [['slow: milliseconds a sync', SYNCS_MS.join(', ')]], failures: [] };
    },
  });
}
