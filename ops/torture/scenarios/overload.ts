import { makeStores } from '../../bench/support/chartledger.ts';
import { residentMegabytes } from '../../bench/support/processUsage.ts';
import type { Outcome, Scenario, Torture } from '../scenario.ts';
import { type FastAnswer, FastConnection, upsertOf } from '../support/FastConnection.ts';
import { type Offered, OpenLoop } from '../support/OpenLoop.ts';
import { TorturedService } from '../support/TorturedService.ts';

/** Used to find the capacity: enough that requests share commits. */
const CONNECTIONS = 128;
const TIMES = 3;
/** Maximum number that the client may have open; the service accepts more. */
const MOST_CONNECTIONS = 2_000;
/** For accepted requests. */
const MOST_P99_MS = 2_000;
const RECOVERED_WITHIN_MS = 5_000;
/** How much memory may grow between the first third and the end. */
const MOST_GROWTH_MB = 100;

/** Offers a service three times the load that it can handle. */
export const overload: Scenario = {
  name: 'overload',
  description: `The rate that the service takes is found with ${CONNECTIONS} connections; then it is offered ${TIMES} times of it, whatever becomes of the requests before. Those that are too much are refused early, with 503 and \`Retry-After\`; those that are taken are answered in bounded time; memory stays flat; afterwards all is as before.`,
  async run(torture: Torture): Promise<Outcome> {
    const { short, progress } = torture;
    const stores = await makeStores(torture, { RATE_LIMIT_PER_MINUTE: '0' });
    const service = new TorturedService(stores.env);
    const url = await service.start();
    let number = 0;
    const request = () => {
      number += 1;
      return upsertOf(stores.key.key, number);
    };
    const capacity = await closedLoop(url, short ? 4 : 20, request);
    const before = residentMegabytes(service.pid).all;
    progress(`takes ${Math.round(capacity)} a second`);
    const load = new OpenLoop(url, MOST_CONNECTIONS);
    await load.open(request);
    const seconds = short ? 20 : 600;
    const parts: Offered[] = [];
    const memory: number[] = [];
    for (let part = 0; part < 3; part += 1) {
      parts.push(await load.offer(capacity * TIMES, seconds / 3, request));
      memory.push(residentMegabytes(service.pid).all);
      progress(`${part + 1} of 3 parts are over`);
    }
    load.close();
    const recovered = await recovery(url, request);
    await service.end();
    return judge({ capacity, seconds, parts, memory: [before, ...memory], recovered });
  },
};

interface Measured {
  capacity: number;
  seconds: number;
  parts: Offered[];
  /** MB before the load, and after each part. */
  memory: number[];
  /** Milliseconds until requests are answered as usual; undefined where they are not. */
  recovered: number | undefined;
}

function judge({ capacity, seconds, parts, memory, recovered }: Measured): Outcome {
  const answers = parts.flatMap((part) => part.answers);
  const sum = (of: (part: Offered) => number) => parts.reduce((total, part) => total + of(part), 0);
  const accepted = answers.filter(({ status }) => status === 200);
  const refused = answers.filter(({ status }) => status === 503);
  const others = new Set(
    answers.map(({ status }) => status).filter((status) => status !== 200 && status !== 503),
  );
  const p99 = percentile(accepted, 0.99);
  const unanswered = sum((part) => part.unanswered);
  const [, early = 0] = memory;
  const late = memory.at(-1) ?? 0;
  const failures = [
    ...(others.size > 0 ? [`answers were ${[...others].join(', ')}`] : []),
    ...(unanswered > 0 ? [`${unanswered} requests were not answered`] : []),
    ...(refused.some(({ retryAfter }) => !retryAfter) ? ['503 came without Retry-After'] : []),
    ...(p99 > MOST_P99_MS ? [`p99 of what was accepted is ${Math.round(p99)} ms`] : []),
    ...(accepted.length < (capacity * seconds) / 10
      ? ['less than a tenth of what it can take was accepted']
      : []),
    ...(late - early > MOST_GROWTH_MB
      ? [`memory grew from ${Math.round(early)} to ${Math.round(late)} MB`]
      : []),
    ...(recovered === undefined ? ['it did not recover'] : []),
  ];
  const figures: Outcome['figures'] = [
    ['requests a second that it takes', capacity],
    ['offered a second', sum((part) => part.offered) / seconds],
    ['seconds', seconds],
    ['of them not sent, as all connections of the client were waiting', sum((part) => part.unsent)],
    ['accepted a second', accepted.length / seconds],
    ['p50 of accepted, ms', percentile(accepted, 0.5)],
    ['p99 of accepted, ms', p99],
    ['refused with 503 and Retry-After', refused.length],
    ['p99 of refused, ms', percentile(refused, 0.99)],
    ['memory before and behind each third, MB', memory.map(Math.round).join(', ')],
    ['until all is as before, ms', recovered ?? 'never'],
  ];
  return { figures, failures };
}

function percentile(answers: readonly FastAnswer[], share: number): number {
  const sorted = answers.map(({ milliseconds }) => milliseconds).sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Measures requests per second where each connection waits for its response. */
async function closedLoop(url: string, seconds: number, request: () => Buffer): Promise<number> {
  const end = performance.now() + seconds * 1_000;
  let answered = 0;
  const run = async () => {
    const connection = new FastConnection(url);
    while (performance.now() < end) {
      if ((await connection.send(request()))?.status === 200) answered += 1;
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, run));
  return answered / seconds;
}

/** Measures how long it takes until ten requests in a row are accepted, each at once. */
async function recovery(url: string, request: () => Buffer): Promise<number | undefined> {
  const startedAt = performance.now();
  const connection = new FastConnection(url);
  for (let row = 0; row < 10; ) {
    const answer = await connection.send(request());
    row = answer?.status === 200 && answer.milliseconds < 100 ? row + 1 : 0;
    if (performance.now() - startedAt > RECOVERED_WITHIN_MS) return undefined;
  }
  connection.close();
  return performance.now() - startedAt;
}
