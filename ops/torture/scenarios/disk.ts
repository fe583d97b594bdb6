import { canMount } from '../../../test/support/smallDisk.ts';
import { damagedPages } from '../disk/damagedPages.ts';
import { fewFiles } from '../disk/fewFiles.ts';
import { fullDisk } from '../disk/fullDisk.ts';
import { movedClock } from '../disk/movedClock.ts';
import { readOnlyDisk } from '../disk/readOnlyDisk.ts';
import { slowDisk } from '../disk/slowDisk.ts';
import type { Outcome, Scenario, Torture } from '../scenario.ts';

type Part = (torture: Torture) => Promise<Outcome>;

const parts: [name: string, run: Part][] = [
  ['full', onMounted(fullDisk)],
  ['read-only', onMounted(readOnlyDisk)],
  ['slow', slowDisk],
  ['few files', fewFiles],
  ['clock', movedClock],
  ['damaged', damagedPages],
];

function onMounted(run: Part): Part {
  const noMount: Outcome = { leftOut: 'file systems cannot be mounted', figures: [], failures: [] };
  return async (torture) => (canMount() ? run(torture) : noMount);
}

/** Disk faults, one after the other. */
export const disk: Scenario = {
  name: 'disk',
  description:
    'Under a load of writers the disk fills up and gets more room, and is read-only when the service comes back from a kill; syncs take 100 ms, then four seconds; there are more connections than files that may be open; the clock is set forward and back. Then bytes of pages of the stored files are overwritten. What was acknowledged must be there afterwards, and no answer may be wrong.',
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
