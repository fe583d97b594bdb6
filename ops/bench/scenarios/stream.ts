import type { Bench, Check, Report, Scenario } from '../scenario.ts';
import { type Chartledger, caughtUp, makeStores, seed, startChartledger } from '../support/chartledger.ts';
import { growLog } from '../support/growLog.ts';
import type { Load } from '../support/load/measuringProcess.ts';
import { ReadersProcess } from '../support/readersProcess.ts';
import { RECORDS } from '../support/rounds.ts';
import { ratios, spread } from '../support/statistics.ts';

const READERS = 200;
/** As many as the service remembers the states of, and no more. */
const REMEMBERED = 15_000;

/** One reader from the first event on, over a full log to which nothing is added. */
async function catchUp(
  bench: Bench,
  readers: ReadersProcess,
  size: { records: number; events: number },
): Promise<{ perSecond: number[]; clientBusy: number[] }> {
  const stores = await makeStores(bench, {}, ['write', 'events']);
  await growLog(bench, stores, size);
  const server = await startChartledger(bench, stores);
  await caughtUp(server.url, 250);
  const order = { url: server.url, key: stores.key.key, path: '/events', readers: 1, until: size.events };
  const perSecond: number[] = [];
  const clientBusy: number[] = [];
  for (let round = 0; round <= bench.rounds; round++) {
    bench.progress(`one reader catches up with ${size.events} events, round ${round} of ${bench.rounds}`);
    const { seconds, clientCpuSeconds } = await readers.read(order);
    if (round === 0) continue;
    perSecond.push(size.events / seconds);
    clientBusy.push(clientCpuSeconds / seconds);
  }
  await server.stop();
  return { perSecond, clientBusy };
}

/** Resolves with the position of the end of the stream. */
async function end(url: string, key: string): Promise<string | null> {
  const { headers } = await fetch(`${url}/events?from=2100-01-01`, { headers: { 'x-api-key': key } });
  return headers.get('chartledger-position');
}

/** Compares writes alone and alongside live readers, in turns. */
async function beside(bench: Bench, readers: ReadersProcess, server: Chartledger): Promise<Check[]> {
  const { url, stores } = server;
  const { key } = stores.key;
  const { seconds } = bench;
  const order = { url, key, kind: 'patients' as const, among: RECORDS, seconds };
  const write = () => bench.load.run({ ...order, connections: 1 });
  const alone: Load[] = [];
  const read: Load[] = [];
  for (let round = 0; round <= bench.rounds; round++) {
    bench.progress(`writes with ${READERS} live readers, round ${round} of ${bench.rounds}`);
    const before = await write();
    await caughtUp(url);
    await readers.open({ url, key, path: `/events?after=${await end(url, key)}`, readers: READERS });
    const during = await write();
    await readers.close(during.requests);
    await caughtUp(url);
    if (round === 0) continue;
    alone.push(before);
    read.push(during);
  }
  const of = (measured: Load[], field: keyof Load) => measured.map((one) => one[field]);
  const ratio = (field: keyof Load) => ratios(of(read, field), of(alone, field));
  return [
    {
      what: 'p50 of a write, one after the other, without readers',
      measured: spread(of(alone, 'p50')),
      unit: 'ms',
    },
    {
      what: `the same with ${READERS} live readers of every event`,
      measured: ratio('p50'),
      unit: '×',
      target: { atMost: 1.5 },
    },
    { what: 'p99, in the same way', measured: ratio('p99'), unit: '×' },
    {
      what: 'writes then, each sent to every reader',
      measured: spread(of(read, 'perSecond')),
      unit: 'a second',
    },
  ];
}

async function run(bench: Bench): Promise<Report> {
  const readers = new ReadersProcess();
  try {
    const few = { records: bench.quick ? 4_000 : REMEMBERED, events: bench.quick ? 20_000 : 300_000 };
    const many = { records: few.records * 10, events: few.records * 20 };
    const remembered = await catchUp(bench, readers, few);
    const forgotten = await catchUp(bench, readers, many);
    const stores = await makeStores(bench, {}, ['write', 'events']);
    const server = await startChartledger(bench, stores);
    await seed(bench, server, stores.key.key, ['payers']);
    const live = await beside(bench, readers, server);
    await server.stop();
    const count = (value: number) => value.toLocaleString('en-US');
    return {
      figures: [],
      checks: [
        {
          what: `one reader catching up with ${count(few.events)} versions of ${count(few.records)} patients`,
          measured: spread(remembered.perSecond),
          unit: 'events/s',
          target: { atLeast: 50_000 },
        },
        {
          what: 'share of a processor that the reader itself used',
          measured: spread(remembered.clientBusy),
          unit: '',
        },
        {
          what: `${count(many.events)} versions of ${count(many.records)} patients, more than are remembered`,
          measured: spread(forgotten.perSecond),
          unit: 'events/s',
        },
        ...live,
      ],
    };
  } finally {
    readers.stop();
  }
}

export const stream: Scenario = {
  name: 'stream',
  description:
    'The event stream, over patients of 1 KB, as server-sent events: one reader from the first event on, and what live ' +
    'readers cost those who write.',
  run,
};
