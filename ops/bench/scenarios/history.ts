import { v7 as uuidv7 } from 'uuid';
import { openEventLog } from '../../../src/app/openBackend.ts';
import { newEvent } from '../../../src/events/newEvent.ts';
import { recordStream } from '../../../src/events/streamNames.ts';
import type { EventLog } from '../../../src/ports/eventLog.ts';
import { catalogEntry } from '../../../src/records/catalog.ts';
import type { Bench, Check, Report, Scenario } from '../scenario.ts';
import { bodies } from '../support/bodies.ts';
import { caughtUp, makeStores, type Stores, startChartledger } from '../support/chartledger.ts';
import { readerKey } from '../support/readerKey.ts';
import { number, withRange } from '../support/report.ts';
import { median, ratios, spread } from '../support/statistics.ts';

const VERSIONS = [1, 100, 10_000];
const PAGE = 100;
const IN_FLIGHT = 500;

const recordOf = (versions: number) => `patient-of-${versions}`;

/** Appends so many versions of a patient of 1 KB, each with another phone number, as the service would. */
async function grow(eventLog: EventLog, { key }: Stores, versions: number): Promise<void> {
  const { workspace, id: keyId } = key;
  const { eventType } = catalogEntry('patient');
  const id = recordOf(versions);
  const stream = recordStream(workspace, 'patient', id);
  let next = 0;
  const chain = async () => {
    while (next < versions) {
      const phone = `+1 402 ${next++}`;
      const caller = {
        workspace,
        principal: { type: 'api_key' as const, id: keyId },
        requestId: uuidv7(),
        clientIp: '127.0.0.1',
      };
      const data = { ...JSON.parse(bodies.patients(0)), id, phone };
      await eventLog.append(stream, newEvent(caller, eventType, data), 'any');
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, chain));
}

/** Stores with all the records, and a key that may read. */
async function makeHistory(bench: Bench): Promise<{ stores: Stores; key: string }> {
  const stores = await makeStores(bench);
  const eventLog = await openEventLog(stores.config.eventLogUrl);
  const key = await readerKey(eventLog, stores);
  for (const versions of VERSIONS) {
    bench.progress(`a record of ${number(versions)} versions`);
    await grow(eventLog, stores, versions);
  }
  await eventLog.close();
  return { stores, key };
}

/** One request over a kept connection: its answer, and how many milliseconds it took. */
async function ask(
  url: string,
  key: string,
): Promise<{ body: { updated_at: string }; milliseconds: number }> {
  const startedAt = performance.now();
  const response = await fetch(url, { headers: { 'x-api-key': key } });
  const text = await response.text();
  const milliseconds = performance.now() - startedAt;
  if (!response.ok) throw new Error(`${response.status} for ${url}`);
  return { body: JSON.parse(text), milliseconds };
}

/** Median milliseconds of each read, a figure a round; the reads take turns, so that what slows one slows all. */
async function measure(
  bench: Bench,
  reads: Map<string, string>,
  key: string,
): Promise<Map<string, number[]>> {
  const times = new Map<string, number[]>([...reads.keys()].map((name) => [name, []]));
  const repeats = bench.quick ? 10 : 100;
  for (let round = 0; round <= bench.rounds; round++) {
    const ofRound = new Map<string, number[]>([...reads.keys()].map((name) => [name, []]));
    for (let turn = 0; turn < repeats; turn++) {
      for (const [name, url] of reads) ofRound.get(name)?.push((await ask(url, key)).milliseconds);
    }
    // The first round warms up.
    if (round > 0) for (const [name, found] of ofRound) times.get(name)?.push(median(found));
  }
  return times;
}

async function run(bench: Bench): Promise<Report> {
  const { stores, key } = await makeHistory(bench);
  const server = await startChartledger(bench, stores);
  await caughtUp(server.url);
  const rows: string[][] = [];
  const checks: Check[] = [];
  for (const versions of VERSIONS) {
    bench.progress(`reads of the record of ${number(versions)} versions`);
    const record = `${server.url}/integration/patients/${recordOf(versions)}`;
    const middle = (await ask(`${record}?version=${Math.ceil(versions / 2)}`, key)).body.updated_at;
    const reads = new Map([
      ['record', record],
      ['newest page of its history', `${record}/history?limit=${PAGE}`],
      ['record as of its middle', `${record}?as_of=${middle}`],
    ]);
    const times = await measure(bench, reads, key);
    const plain = times.get('record') as number[];
    for (const [read, milliseconds] of times) {
      rows.push([number(versions), read, withRange(spread(milliseconds))]);
      if (milliseconds === plain) continue;
      const what = `${number(versions)} versions: ${read} to the record`;
      checks.push({ what, measured: ratios(milliseconds, plain), unit: '×' });
    }
  }
  await server.stop();
  return { figures: [{ columns: ['versions', 'read', 'ms'], rows }], checks };
}

export const history: Scenario = {
  name: 'history',
  description:
    'Records of 1, 100 and 10,000 versions of 1 KB: the newest page of the history (100 versions) and the record as ' +
    'of the middle of its history, each against a plain read of the same record, one request after the other.',
  run,
};
