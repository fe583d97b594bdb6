import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEventLog } from '../../../src/server/openStorage.ts';
import { node } from '../../../test/support/processes.ts';
import { readAll } from '../../../test/support/service.ts';

import { makeStores } from '../../bench/support/chartledger.ts';
import { startOptions } from '../../bench/support/serverProcess.ts';
import type { Outcome, Torture } from '../scenario.ts';
import { disturbed } from '../support/disturbed.ts';

const MINUTE_MS = 60_000;
const OFF_MINUTES = [10, -10, 0, -60, 0];

/** The clock of the service is set forward and back under load. */
export async function movedClock(torture: Torture): Promise<Outcome> {
  const file = join(torture.folder, 'clock');
  writeFileSync(file, '0');
  const stores = await makeStores(torture, { RATE_LIMIT_PER_MINUTE: '0' }, ['write', 'read']);
  const preload = ['--import', resolve('ops/torture/support/movedClock.ts')];
  const outcome = await disturbed(torture, {
    stores,
    env: { TORTURE_CLOCK: file },
    command: [node, ...startOptions, ...preload, 'src/main.ts'],
    async disturb() {
      for (const minutes of OFF_MINUTES) {
        writeFileSync(file, String(minutes * MINUTE_MS));
        await sleep(torture.short ? 1_500 : 20_000);
      }
      return { figures: [['clock: minutes off', OFF_MINUTES.join(', ')]], failures: [] };
    },
  });
  const eventLog = await openEventLog(stores.config.eventLogUrl);
  const times = (await readAll(eventLog)).map(({ recordedAt }) => recordedAt);
  await eventLog.close();
  const falls = times.filter((time, n) => n > 0 && time < (times[n - 1] ?? '')).length;
  return {
    figures: outcome.figures,
    failures: [...outcome.failures, ...(falls > 0 ? [`times of the log fall ${falls} times`] : [])],
  };
}
