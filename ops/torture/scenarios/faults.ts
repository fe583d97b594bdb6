import { rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { node } from '../../../test/support/processes.ts';
import { makeStores } from '../../bench/support/chartledger.ts';
import { startOptions } from '../../bench/support/serverProcess.ts';
import type { Outcome, Scenario, Torture } from '../scenario.ts';
import { disturbed } from '../support/disturbed.ts';

const WRITERS = 16;

/** Makes calls of the ports fail under a load of writers. */
export const faults: Scenario = {
  name: 'faults',
  description: `One of 25 calls of the event log, read models, state store and document store comes late, fails, fails after it was carried out, is carried out twice, or is answered late, while ${WRITERS} writers send upserts, batches and uploads. Every answer is 200, or 503 and 409 that may be repeated; in the end all is as the answers said.`,
  async run(torture: Torture): Promise<Outcome> {
    const { short, seed, folder } = torture;
    const switchedOn = join(folder, 'faults');
    const preload = ['--import', resolve('ops/torture/support/faultyStores.ts')];
    const command = [node, ...startOptions, ...preload, 'src/main.ts'];
    const stores = await makeStores(torture, { RATE_LIMIT_PER_MINUTE: '0' }, ['write', 'read']);
    const env = { TORTURE_FAULTS: switchedOn, TORTURE_SEED: String(seed) };
    return disturbed(torture, {
      ...{ stores, env, command, writers: WRITERS },
      async disturb() {
        writeFileSync(switchedOn, '');
        await sleep(short ? 3_000 : 300_000);
        rmSync(switchedOn);
        return { figures: [], failures: [] };
      },
    });
  },
};
