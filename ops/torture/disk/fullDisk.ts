import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../../test/support/eventually.ts';
import type { SmallDisk } from '../../../test/support/smallDisk.ts';
import type { Stores } from '../../bench/support/chartledger.ts';
import type { Outcome, Torture } from '../scenario.ts';
import { disturbed } from '../support/disturbed.ts';
import { bodyOf, send } from '../support/send.ts';

/** What room the write-ahead log has in its file has to be used up first. */
const FULL_WITHIN_MS = 600_000;

/** A disk on which a service has its stores. */
export interface DiskWithStores {
  disk: SmallDisk;
  stores: Stores;
}

/** Something else fills the disk under load, and gives its room back. */
export async function fullDisk(torture: Torture, { disk, stores }: DiskWithStores): Promise<Outcome> {
  return disturbed(torture, {
    stores,
    writers: 32,
    async disturb(service) {
      const ready = async () => send(await service.url(), false, { path: '/readyz' });
      await sleep(torture.short ? 1_000 : 10_000);
      const giveBack = disk.fill();
      const full = await eventually(async () => {
        const answer = await ready();
        if (answer.status !== 503) throw new Error('there is still room');
        return bodyOf(answer);
      }, FULL_WITHIN_MS);
      giveBack();
      await eventually(async () => {
        if ((await ready()).status !== 200) throw new Error('it is not ready again');
      });
      return { figures: [['full: the event log is', String(full.event_log)]], failures: [] };
    },
  });
}
