import type { Bench, Report, Scenario } from '../scenario.ts';
import { caughtUp, makeStores, startChartledger } from '../support/chartledger.ts';
import { growLog } from '../support/growLog.ts';
import { readerKey } from '../support/readerKey.ts';
import { number, withRange } from '../support/report.ts';
import { percentile, spread } from '../support/statistics.ts';
import { ask } from '../support/timedReads.ts';

/** Searches under way at once. */
const CONCURRENCY = 4;
const SYLLABLES =
  'ba da fa ga ha ja ka la ma na pa ra sa ta va be de fe ge he je ke le me ne pe re se te ve'.split(' ');
const FIRST_NAMES = 900;

/** Returns a name with some syllables: a different one for each number. */
function name(of: number, syllables: number): string {
  let text = '';
  for (let rest = of, at = 0; at < syllables; at += 1, rest = Math.floor(rest / SYLLABLES.length)) {
    text += SYLLABLES[rest % SYLLABLES.length];
  }
  return text;
}

const firstName = (index: number) => name((index * 7) % FIRST_NAMES, 2);
const lastName = (index: number) => name(Math.floor((index * 2_654_435_761) % 27_000), 3);
const two = (of: number) => String(of).padStart(2, '0');
const birthDate = (index: number) =>
  `${1930 + (index % 90)}-${two(1 + (index % 12))}-${two(1 + (index % 28))}`;

const patient = (index: number) =>
  JSON.stringify({
    ...{ id: `patient-${index}`, first_name: firstName(index), last_name: lastName(index) },
    date_of_birth: birthDate(index),
    primary_insurance: { payer_id: `payer-${index % 20}`, policy_number: `W${100_000_000 + index}` },
  });

/** What people type to find an existing person. */
const searches: Record<string, (index: number) => string> = {
  'both names': (index) => `${lastName(index)} ${firstName(index)}`,
  'a beginning of each': (index) => `${lastName(index).slice(0, 4)} ${firstName(index).slice(0, 3)}`,
  'surname and date of birth': (index) => `${lastName(index)} ${birthDate(index)}`,
  surname: lastName,
  'an id': (index) => `patient-${index}`,
  'a policy number': (index) => `w${100_000_000 + index}`,
};

/** Resolves with the milliseconds that a search took. Rejects when it found nothing. */
async function timedSearch(url: string, key: string, q: string): Promise<number> {
  const startedAt = performance.now();
  const { items } = JSON.parse(await ask(`${url}/integration/search`, key, { q })) as { items: unknown[] };
  if (items.length === 0) throw new Error('a search found nothing');
  return performance.now() - startedAt;
}

/** Resolves with the milliseconds of `count` searches, ascending, several at once. */
async function timed(count: number, once: () => Promise<number>): Promise<number[]> {
  const times: number[] = [];
  const chain = async () => {
    while (times.length < count) times.push(await once());
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, chain));
  return times.sort((a, b) => a - b);
}

async function run(bench: Bench): Promise<Report> {
  const records = bench.quick ? 20_000 : 1_000_000;
  const stores = await makeStores(bench);
  await growLog(bench, stores, { records, events: records }, patient);
  const key = await readerKey(stores);
  const server = await startChartledger(bench, stores);
  bench.progress('the read models catch up');
  await caughtUp(server.url, 250);
  const rows: string[][] = [];
  const all: number[][] = Array.from({ length: bench.rounds }, () => []);
  for (const [what, text] of Object.entries(searches)) {
    bench.progress(what);
    const once = () => timedSearch(server.url, key, text(Math.floor(Math.random() * records)));
    await timed(CONCURRENCY, once);
    const rounds: number[][] = [];
    for (const times of all) {
      const found = await timed(bench.quick ? 20 : 200, once);
      times.push(...found);
      rounds.push(found);
    }
    const at = (share: number) => withRange(spread(rounds.map((found) => percentile(found, share))));
    rows.push([what, at(0.5), at(0.99)]);
  }
  await server.stop();
  const p99 = all.map((times) =>
    percentile(
      times.sort((a, b) => a - b),
      0.99,
    ),
  );
  return {
    figures: [{ columns: ['searched for', 'p50 ms', 'p99 ms'], rows }],
    checks: [
      {
        what: `${number(records)} patients: p99 of all these searches, ${CONCURRENCY} in parallel`,
        measured: spread(p99),
        unit: 'ms',
        target: { atMost: 50 },
      },
    ],
  };
}

export const search: Scenario = {
  name: 'search',
  description:
    `Searches among 1 million patients (20,000 in the quick form), ${CONCURRENCY} in parallel, each with the wait for the read model and its ` +
    'entry in the audit trail.',
  run,
};
