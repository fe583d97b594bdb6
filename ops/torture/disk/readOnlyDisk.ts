import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceProcess } from '../../../test/support/processes.ts';
import type { Outcome, Torture } from '../scenario.ts';
import { disturbed } from '../support/disturbed.ts';
import { startCommand } from '../support/TorturedService.ts';
import type { DiskWithStores } from './fullDisk.ts';

/** The service dies under load, and its disk comes back read-only, as after a disk error. */
export async function readOnlyDisk(torture: Torture, { disk, stores }: DiskWithStores): Promise<Outcome> {
  return disturbed(torture, {
    stores,
    async disturb(service) {
      await sleep(torture.short ? 3_000 : 20_000);
      await service.end('SIGKILL');
      disk.setReadOnly(true);
      const { code, stderr } = await new ServiceProcess(stores.env, { command: startCommand }).exit();
      disk.setReadOnly(false);
      await service.start();
      await sleep(torture.short ? 3_000 : 20_000);
      const isTold = code !== 0 && stderr.includes('cannot be written');
      return {
        figures: [['read-only: a start is refused', isTold ? 'yes, with the reason' : 'no']],
        failures: isTold ? [] : [`it ended with ${code}: ${stderr}`],
      };
    },
  });
}
