import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Report, Scenario } from '../scenario.ts';
import { type Chartledger, caughtUp, makeStores, startChartledger } from '../support/chartledger.ts';
import { evenly } from '../support/evenly.ts';
import { growLog } from '../support/growLog.ts';
import { residentMegabytes } from '../support/processUsage.ts';
import { readerKey } from '../support/readerKey.ts';
import { number, withRange } from '../support/report.ts';
import { percentile, spread } from '../support/statistics.ts';
import { timedAnalyses } from '../support/timedAnalyses.ts';
import { ask, timedReads } from '../support/timedReads.ts';

const WRITES_PER_SECOND = 50;
const PAYERS = 10;
const FACILITIES = 20;
const PROVIDERS = 200;
const ENCOUNTERS_PER_PATIENT = 10;
/** One in this many patients lacks the number of their policy. */
const WITHOUT_POLICY = 20;
const DAYS = 28;
const POLL_MS = 100;
/** Reads of each kind in a round. */
const READS = 50;

const address = {
  address_line_1: '12 Elm Street',
  city: 'Omaha',
  state: 'NE',
  zip_code: '68102',
  country: 'US',
};
const payer = (index: number, turn: number) => ({
  ...{ id: `payer-${index}`, name: `Payer ${turn}` },
  payer_code: turn % 2 === 0 ? '60054' : null,
});
const facility = (index: number) => ({
  ...{ id: `facility-${index}`, name: 'Clinic', npi: '1093817462', facility_type: 'clinic' },
  ...{ tax_id: '12-3456789', ...address },
});
const provider = (index: number) => ({
  ...{ id: `provider-${index}`, first_name: 'Maria', last_name: 'Lopez', npi: '1234567893' },
  ...{ taxonomy_code: '207Q00000X', role: 'attending_physician', ...address },
});
const patient = (index: number) => ({
  ...{
    id: `patient-${index}`,
    first_name: 'Maria',
    last_name: `Lopez-${index}`,
    date_of_birth: '1984-02-29',
  },
  ...address,
  primary_insurance: {
    ...{ payer_id: `payer-${index % PAYERS}`, subscriber_relationship: 'self' },
    ...{ policy_number: index % WITHOUT_POLICY === 0 ? null : `W${index}`, effective_date: '2026-01-01' },
  },
});
const encounter = (index: number) => ({
  ...{ id: `encounter-${index}`, patient_id: `patient-${Math.floor(index / ENCOUNTERS_PER_PATIENT)}` },
  ...{ provider_id: `provider-${index % PROVIDERS}`, facility_id: `facility-${index % FACILITIES}` },
  date_of_service: `2026-03-${String(1 + (index % DAYS)).padStart(2, '0')}`,
  is_completed: true,
});

const queries: Record<string, string> = {
  all: '',
  'one state': '&state=blocked',
  'one rule': '&rule=policy_number_missing',
  'one payer': '&payer_id=payer-1',
  'one facility': '&facility_id=facility-1',
  'a week': '&from=2026-03-02&to=2026-03-08',
};

/** Sends a payer in its next version. */
async function change({ url }: Chartledger, key: string, turn: number): Promise<void> {
  const response = await fetch(`${url}/integration/payers`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(payer(0, turn)),
  });
  if (!response.ok) throw new Error(`${response.status} for an upsert: ${await response.text()}`);
}

/** Changes a payer while others write, and waits until all its encounters have been evaluated again. */
async function throughAfter(service: Chartledger, keys: { write: string; read: string }, turn: number) {
  const { url, pid } = service;
  const startedAt = performance.now();
  await change(service, keys.write, turn);
  const state = turn % 2 === 0 ? 'ready' : 'blocked';
  let memory = 0;
  for (;;) {
    await sleep(POLL_MS);
    memory = Math.max(memory, residentMegabytes(pid).anonymous);
    const text = await ask(`${url}/integration/readiness?limit=1&payer_id=payer-0&state=${state}`, keys.read);
    const { progress } = JSON.parse(text) as { progress: { under_way: unknown[] } };
    if (progress.under_way.length === 0) return { seconds: (performance.now() - startedAt) / 1000, memory };
  }
}

async function run(bench: Bench): Promise<Report> {
  const encounters = bench.quick ? 20_000 : 1_000_000;
  const stores = await makeStores(bench);
  const patients = encounters / ENCOUNTERS_PER_PATIENT;
  const grow = (
    kind: 'payer' | 'facility' | 'provider' | 'patient' | 'encounter',
    records: number,
    of: (index: number, turn: number) => object,
  ) => growLog(bench, stores, { kind, records, events: records }, (index) => JSON.stringify(of(index, 0)));
  await grow('payer', PAYERS, payer);
  await grow('facility', FACILITIES, facility);
  await grow('provider', PROVIDERS, provider);
  await grow('patient', patients, patient);
  await grow('encounter', encounters, encounter);
  const keys = { write: stores.key.key, read: await readerKey(stores) };
  const server = await startChartledger(bench, stores);
  bench.progress('the read models catch up');
  const built = await caughtUp(server.url, 250);
  const reads = new Map(
    Object.entries(queries).map(([name, query]) => [
      name,
      () => ask(`${server.url}/integration/readiness?limit=50${query}`, keys.read),
    ]),
  );
  const times = await timedReads(bench, server, reads, bench.quick ? 10 : READS);
  const before = residentMegabytes(server.pid).anonymous;
  const seconds: number[] = [];
  const writes: number[] = [];
  let memory = 0;
  for (let round = 1; round <= bench.rounds; round += 1) {
    bench.progress(`a change of a payer, round ${round} of ${bench.rounds}`);
    let isThrough = false;
    const through = throughAfter(server, keys, round).finally(() => {
      isThrough = true;
    });
    const sent: number[] = [];
    while (!isThrough) {
      await evenly(WRITES_PER_SECOND, 1, async (turn) => {
        const startedAt = performance.now();
        await fetch(`${server.url}/integration/encounters`, {
          method: 'POST',
          headers: { 'x-api-key': keys.write, 'content-type': 'application/json' },
          body: JSON.stringify({ ...encounter(turn), status: `round ${round}` }),
        }).then((response) => response.arrayBuffer());
        sent.push(performance.now() - startedAt);
      });
    }
    const found = await through;
    seconds.push(found.seconds);
    memory = Math.max(memory, found.memory);
    writes.push(
      percentile(
        sent.sort((a, b) => a - b),
        0.99,
      ),
    );
  }
  bench.progress('a simulation and a scorecard');
  const analyses = await timedAnalyses(stores);
  await server.stop();
  const p99 = [...times.values()].map((of) => of.p99);
  const slowest = p99[0]?.map((_, round) => Math.max(...p99.map((of) => of[round] ?? 0))) ?? [];
  return {
    figures: [
      {
        columns: ['worklist, first page of 50 with counts', 'p50 ms', 'p99 ms'],
        rows: [...times].map(([name, of]) => [name, withRange(spread(of.p50)), withRange(spread(of.p99))]),
      },
    ],
    checks: [
      {
        what: `${number(encounters)} encounters: p99 of the slowest of these`,
        measured: spread(slowest),
        unit: 'ms',
        target: { atMost: 100 },
      },
      {
        what: `a change of a payer with ${number(encounters / PAYERS)} encounters is through, with ${WRITES_PER_SECOND} writes a second`,
        measured: spread(seconds),
        unit: 's',
        target: { atMost: 60 },
      },
      { what: 'p99 of those writes', measured: spread(writes), unit: 'ms' },
      {
        what: 'memory that it took beyond the rest, at most',
        measured: spread([memory - before]),
        unit: 'MB',
      },
      { what: 'built from the log', measured: spread([built]), unit: 's' },
      { what: 'a simulation of all encounters', measured: spread([analyses.simulation]), unit: 's' },
      { what: 'a scorecard of all encounters', measured: spread([analyses.scorecard]), unit: 's' },
    ],
  };
}

export const readiness: Scenario = {
  name: 'readiness',
  description:
    'The worklist of 1 million encounters (20,000 in the quick form) of 100,000 patients, with the wait of each read for the read model and its entry ' +
    'in the audit trail; then changes of a payer of a tenth of them, as often as there are rounds; last a simulation and a scorecard.',
  run,
};
