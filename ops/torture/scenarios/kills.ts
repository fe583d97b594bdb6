import { setTimeout as sleep } from 'node:timers/promises';
import { choices } from '../../../test/support/choices.ts';
import { makeStores } from '../../bench/support/chartledger.ts';
import type { Outcome, Scenario, Torture } from '../scenario.ts';
import { checkStores } from '../support/checkStores.ts';
import { Ledger } from '../support/Ledger.ts';
import { startWriters } from '../support/startWriters.ts';
import { TorturedService } from '../support/TorturedService.ts';

const WRITERS = 32;
/** From when it listens to its end, or from the beginning of a start in which it never gets to listen. */
const LONGEST_LIFE_MS = 2_000;

/** Kills a service again and again; resolves with how often it got to listen before. */
async function kill(
  service: TorturedService,
  kills: number,
  choose: (below: number) => number,
  { progress }: Torture,
): Promise<number> {
  let listened = 0;
  for (let n = 1; n <= kills; n += 1) {
    const started = service.start();
    // One in ten dies while it starts.
    if (choose(10) > 0) {
      await started;
      listened += 1;
    }
    await sleep(choose(LONGEST_LIFE_MS));
    await service.end('SIGKILL');
    if (n % 10 === 0) progress(`${n} of ${kills} kills`);
  }
  return listened;
}

/** Kills the service under a load of writers; everything acknowledged must be there, once, as it was sent. */
export const kills: Scenario = {
  name: 'kills',
  description: `The service is killed (SIGKILL) at moments chosen by chance, while it starts as well, and started again, while ${WRITERS} writers send upserts, batches and uploads, one of six with an \`Idempotency-Key\` under which they repeat what was not answered. In the end each acknowledged write is in the log, the history and the documents exactly once, in order and with its content; \`verify\` passes; read models equal rebuilt ones.`,
  async run(torture: Torture): Promise<Outcome> {
    const { short, seed } = torture;
    const choose = choices(seed);
    const stores = await makeStores(torture, { RATE_LIMIT_PER_MINUTE: '0' }, ['write', 'read']);
    const ledger = new Ledger();
    const service = new TorturedService(stores.env);
    service.start();
    const writers = startWriters({
      service,
      stores,
      ledger,
      count: WRITERS,
      choices: (n) => choices(seed + n + 1),
    });
    await service.url();
    await service.end('SIGKILL');
    const many = short ? 4 : 200;
    const listened = await kill(service, many - 1, choose, torture);
    await service.start();
    const written = await writers.stop();
    const checked = await checkStores(stores, await service.url(), ledger);
    await service.end();
    return {
      figures: [
        ['kills', many],
        ['of them while it started', many - 1 - listened],
        ...written.figures,
        ...checked.figures,
      ],
      failures: [...written.failures, ...checked.failures],
    };
  },
};
