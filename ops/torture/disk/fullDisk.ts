import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../../test/support/eventually.ts';
import type { SmallDisk } from '../../../test/support/files.ts';

import type { Stores } from '../../bench/support/chartledger.ts';
import type { Outcome, Torture } from '../scenario.ts';
import { disturbed } from '../support/disturbed.ts';
import { bodyOf, send } from '../support/send.ts';

const FULL_WITHIN_MS = 120_000;
const AT_ONCE = 50;

const json = { 'content-type': 'application/json' };
const upsertOfOne = {
  method: 'POST',
  path: '/integration/payers',
  body: JSON.stringify({ id: 'while-full', name: 'x'.repeat(200) }),
};

/** A disk on which a service has its stores. */
export interface DiskWithStores {
  disk: SmallDisk;
  stores: Stores;
}

/**
 * Something else fills the disk under load, and gives its room back. Writers that repeat what needs more room may stand still before the
 * event log has used up what its files have: further upserts see to that.
 */
export async function fullDisk(torture: Torture, { disk, stores }: DiskWithStores): Promise<Outcome> {
  return disturbed(torture, {
    stores,
    async disturb(service) {
      const url = await service.url();
      const upsert = () =>
        send(url, false, { ...upsertOfOne, headers: { ...json, 'x-api-key': stores.key.key } });
      await sleep(torture.short ? 1_000 : 10_000);
      const releasePlace = disk.fill();
      await eventually(async () => {
        const answers = await Promise.all(Array.from({ length: AT_ONCE }, upsert));
        const isFull = answers.some((one) => one.status === 503 && bodyOf(one).code === 'unavailable');
        if (!isFull) throw new Error('there is still room');
      }, FULL_WITHIN_MS);
      releasePlace();
      await eventually(async () => {
        if ((await upsert()).status !== 200) throw new Error('it does not take writes again');
      });
      return { figures: [['full: an upsert gets', '503 unavailable']], failures: [] };
    },
  });
}
