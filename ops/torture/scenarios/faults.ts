import { rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { choices } from '../../../test/support/choices.ts';
import { node } from '../../../test/support/serviceProcess.ts';
import { makeStores } from '../../bench/support/chartledger.ts';
import { startOptions } from '../../bench/support/serverProcess.ts';
import type { Outcome, Scenario, Torture } from '../scenario.ts';
import { checkStores } from '../support/checkStores.ts';
import { Ledger } from '../support/Ledger.ts';
import { startWriters } from '../support/startWriters.ts';
import { TorturedService } from '../support/TorturedService.ts';

const WRITERS = 16;

/** Lets calls of the ports go wrong under a load of writers. */
export const faults: Scenario = {
  name: 'faults',
  description: `One of 25 calls of the event log, read models, state store and document store comes late, fails, fails after it was carried out, is carried out twice, or is answered late; meanwhile ${WRITERS} writers send upserts, batches and uploads. Every answer is 200, or 503 and 409 that may be repeated; in the end all is as the answers said.`,
  async run(torture: Torture): Promise<Outcome> {
    const { short, seed, folder } = torture;
    const switchedOn = join(folder, 'faults');
    const preload = ['--import', resolve('ops/torture/support/faultyStores.ts')];
    const command = [node, ...startOptions, ...preload, 'src/main.ts'];
    const stores = await makeStores(torture, { RATE_LIMIT_PER_MINUTE: '0' }, ['write', 'read']);
    const env = { ...stores.env, TORTURE_FAULTS: switchedOn, TORTURE_SEED: String(seed) };
    const service = new TorturedService(env, command);
    await service.start();
    const ledger = new Ledger();
    const writers = startWriters({
      service,
      stores,
      ledger,
      count: WRITERS,
      choices: (n) => choices(seed + n),
    });
    writeFileSync(switchedOn, '');
    await sleep(short ? 10_000 : 300_000);
    rmSync(switchedOn);
    const written = await writers.stop();
    // What a process was not sure of is settled by the next one.
    await service.end();
    const checked = await checkStores(stores, await service.start(), ledger);
    await service.end();
    return {
      figures: [...written.figures, ...checked.figures],
      failures: [...written.failures, ...checked.failures],
    };
  },
};
