import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { choices } from '../../../test/support/choices.ts';
import { runCli, spawnCli } from '../../../test/support/cli.ts';
import { makeStores, type Stores } from '../../bench/support/chartledger.ts';
import { bodyOf } from '../../bench/support/load/bodies.ts';
import type { Outcome, Scenario, Torture } from '../scenario.ts';
import { lineOf, payers, sendLines } from '../support/sendLines.ts';
import { TorturedService } from '../support/TorturedService.ts';

const PATIENTS = 3_000;
const LINES = 1_000;
/** How the longest life of a run changes after one that was killed, and after one that ended before: about half of them are. */
const LONGER = 1.3;
const SHORTER = 0.8;
const ERASE_EVERY = 5;
const MOST_RUNS = 20;

/** The writing of a warehouse is killed; its files must be those of a run without kills. */
export const warehouse: Scenario = {
  name: 'warehouse',
  description: `\`sink parquet\` is killed (SIGKILL) at moments chosen by chance, and run again, while the log grows by ${LINES} upserts before each run, and one patient is erased before each fifth. In the end the files must have the same names and bytes as those of one run into an empty folder.`,
  async run(torture: Torture): Promise<Outcome> {
    const { short, seed, folder, progress } = torture;
    const choose = choices(seed);
    const stores = await makeStores(torture, { BATCH_LINES_PER_MINUTE: '1000000000' }, ['write']);
    const service = new TorturedService(stores.env);
    const url = await service.start();
    await sendLines(url, stores, payers());
    const place = join(folder, 'warehouse');
    const kills = short ? 5 : 50;
    await sendPatients(url, stores, choose);
    const startedAt = performance.now();
    await sink(spawnCli, stores, place, 0);
    let longest = 2 * (performance.now() - startedAt);
    const positions = new Set([positionOf(place)]);
    let ended = 0;
    for (let n = 1; n <= kills; n += 1) {
      await sendPatients(url, stores, choose);
      if (n % ERASE_EVERY === 0) {
        await sendLines(url, stores, [lineOf('patient', bodyOf('patients', n))]);
        await erase(stores, `patient-${n}`);
      }
      const kill = AbortSignal.timeout(choose(Math.ceil(longest)));
      const killed: typeof runCli = (args, options) => spawnCli(args, { ...options, kill });
      const { code } = await sink(killed, stores, place, n);
      longest *= code === null ? LONGER : SHORTER;
      if (code !== null) ended += 1;
      positions.add(positionOf(place));
      progress(`${n} of ${kills} kills`);
    }
    const fresh = join(folder, 'fresh');
    let runs = 0;
    for (; runs < MOST_RUNS; runs += 1) {
      await sink(runCli, stores, fresh, kills + 2 * runs + 1);
      const { stdout } = await sink(runCli, stores, place, kills + 2 * runs + 2);
      if (stdout.startsWith('Nothing')) break;
    }
    await service.end();
    const [killed, whole] = [digestsOf(place), digestsOf(fresh)];
    const differing = [...new Set([...killed.keys(), ...whole.keys()])].filter(
      (path) => killed.get(path) !== whole.get(path),
    );
    return {
      figures: [
        ['runs that were to be killed', kills],
        ['of them at their end before', ended],
        ['commits that they left', positions.size - 1],
        ['files', whole.size],
        ['files that differ', differing.length],
      ],
      failures: [
        ...(runs === MOST_RUNS ? ['the log did not come to rest'] : []),
        ...(whole.size === 0 ? ['nothing was written'] : []),
        ...(positions.size === 1 ? ['every run was killed before it wrote anything'] : []),
        ...differing.map((path) => `${path} differs`),
      ],
    };
  },
};

/** Another store of leases for each run: otherwise it would wait for that of the killed one to expire. */
function sink(run: typeof runCli, stores: Stores, place: string, number: number) {
  const env = { ...stores.env, STATE_URL: `sqlite:${place}-leases-${number}.db` };
  return run(['sink', 'parquet', place, '--workspace', stores.key.workspace], { env });
}

/** Upserts of patients that exist, or not yet, each with one field of its own. */
async function sendPatients(url: string, stores: Stores, choose: (below: number) => number): Promise<void> {
  const lines = Array.from({ length: LINES }, () => {
    const patient = JSON.parse(bodyOf('patients', choose(PATIENTS)));
    return lineOf('patient', JSON.stringify({ ...patient, city: `City ${choose(100)}` }));
  });
  await sendLines(url, stores, lines);
}

async function erase({ env, key }: Stores, id: string): Promise<void> {
  const about = ['--workspace', key.workspace, '--reason', 'asked for'];
  const { code, stderr } = await runCli(['records', 'erase', 'patient', id, ...about], { env });
  if (code !== 0) throw new Error(`erase ended with ${code}: ${stderr}`);
}

function positionOf(folder: string): number {
  return JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')).position;
}

function digestsOf(folder: string): Map<string, string> {
  const paths = globSync('**/*.parquet', { cwd: folder });
  return new Map(
    paths.map((path) => [
      path,
      createHash('sha256')
        .update(readFileSync(join(folder, path)))
        .digest('hex'),
    ]),
  );
}
