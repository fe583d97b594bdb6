import { canMount, SmallDisk } from '../../../test/support/files.ts';
import { makeStores } from '../../bench/support/chartledger.ts';
import { damagedPages } from '../disk/damagedPages.ts';
import { fewFiles } from '../disk/fewFiles.ts';
import { type DiskWithStores, fullDisk } from '../disk/fullDisk.ts';
import { movedClock } from '../disk/movedClock.ts';
import { readOnlyDisk } from '../disk/readOnlyDisk.ts';
import { slowDisk } from '../disk/slowDisk.ts';
import type { Outcome, Scenario, Torture } from '../scenario.ts';

type Part = (torture: Torture) => Promise<Outcome>;

const parts: [name: string, run: Part][] = [
  ['full', onMounted('512m', fullDisk)],
  ['read-only', onMounted('2g', readOnlyDisk)],
  ['slow', slowDisk],
  ['few files', fewFiles],
  ['clock', movedClock],
  ['damaged', damagedPages],
];

/** Runs a part with stores on a file system of its own. */
function onMounted(size: string, run: (torture: Torture, on: DiskWithStores) => Promise<Outcome>): Part {
  return async (torture) => {
    if (!canMount()) return { leftOut: 'file systems cannot be mounted', figures: [], failures: [] };
    const disk = new SmallDisk(size);
    try {
      const settings = { RATE_LIMIT_PER_MINUTE: '0' };
      const stores = await makeStores({ folder: disk.path }, settings, ['write', 'read']);
      return await run(torture, { disk, stores });
    } finally {
      disk.remove();
    }
  };
}

/** Disk faults, one after the other. */
export const disk: Scenario = {
  name: 'disk',
  description:
    'Under a load of writers the disk is full for a while, and is read-only when the service comes back from a kill; syncs take 100 ms, then four seconds; there are more connections than files that may be open; the clock is set forward and back. Then bytes of pages of the stored files are overwritten. What was acknowledged must be there afterwards, and no answer may be wrong.',
  async run(torture: Torture): Promise<Outcome> {
    const figures: Outcome['figures'] = [];
    const failures: string[] = [];
    for (const [name, run] of parts) {
      torture.progress(name);
      const outcome = await run(torture);
      if (outcome.leftOut !== undefined) figures.push([name, `left out: ${outcome.leftOut}`]);
      figures.push(...outcome.figures);
      failures.push(...outcome.failures.map((failure) => `${name}: ${failure}`));
    }
    return { figures, failures };
  },
};
