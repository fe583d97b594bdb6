import { eventually } from '../../../test/support/eventually.ts';
import { SmallDisk } from '../../../test/support/smallDisk.ts';
import { makeStores } from '../../bench/support/chartledger.ts';
import type { Outcome, Torture } from '../scenario.ts';
import { disturbed } from '../support/disturbed.ts';
import { bodyOf, send } from '../support/send.ts';

const FULL_WITHIN_MS = 120_000;

/** The disk fills up under load, and is given more room. */
export async function fullDisk(torture: Torture): Promise<Outcome> {
  const disk = new SmallDisk('24m');
  try {
    const stores = await makeStores({ folder: disk.path }, { RATE_LIMIT_PER_MINUTE: '0' }, ['write', 'read']);
    return await disturbed(torture, {
      stores,
      async disturb(service) {
        const ready = async () => send(await service.url(), false, { path: '/readyz' });
        const full = await eventually(async () => {
          const answer = await ready();
          if (answer.status !== 503) throw new Error('there is still room');
          return bodyOf(answer);
        }, FULL_WITHIN_MS);
        disk.resize('2g');
        await eventually(async () => {
          if ((await ready()).status !== 200) throw new Error('it is not ready again');
        });
        return { figures: [['full: the event log is', String(full.event_log)]], failures: [] };
      },
    });
  } finally {
    disk.remove();
  }
}
