import type { Bench, Report, Scenario } from '../scenario.ts';
import { prepareBatches, sendBatches } from '../support/batches.ts';
import { type Chartledger, caughtUp, makeStores, seed, startChartledger } from '../support/chartledger.ts';
import { requireSyncs } from '../support/requireSyncs.ts';
import {
  type Contestant,
  columns,
  contestant,
  costOf,
  inTurns,
  rowsOf,
  series,
  warmUp,
} from '../support/rounds.ts';
import { ratios } from '../support/statistics.ts';
import { startPeer } from '../support/upsertContestants.ts';

const CONNECTIONS = 64;
const RECORDS = { full: 100_000, quick: 5_000 };
const BATCHES = 'chartledger, batches';
const ONE_BY_ONE = 'chartledger, one by one';
const PEER = 'peer, one by one';

/**
 * Returns the service, sent `records` records in batches, one batch at a time; they are prepared before the clock
 * starts.
 */
function batches(server: Chartledger, records: number): Contestant {
  return {
    name: BATCHES,
    measure() {
      const prepared = prepareBatches(records);
      return costOf(
        server,
        () => sendBatches(server, prepared),
        () => caughtUp(server.url),
      );
    },
  };
}

async function run(bench: Bench): Promise<Report> {
  const records = bench.quick ? RECORDS.quick : RECORDS.full;
  const stores = await makeStores(bench, { BATCH_LINES_PER_MINUTE: '1000000000' });
  const { key } = stores.key;
  const server = await startChartledger(bench, stores);
  const peer = await startPeer(bench);
  for (const one of [server, peer]) await seed(bench, one, key, ['payers']);
  const patients = { key, kind: 'patients', among: records } as const;
  const contestants = [
    batches(server, records),
    contestant(bench, ONE_BY_ONE, server, { ...patients, settle: true }),
    contestant(bench, PEER, peer, patients),
  ];
  await warmUp(bench, contestants);
  const results = await inTurns(bench, contestants, CONNECTIONS);
  requireSyncs(results.get(PEER));
  const rows = rowsOf(CONNECTIONS, results).map((row) => (row[1] === BATCHES ? ['1', ...row.slice(1)] : row));
  const toOther = (figure: 'perSecond' | 'serverCpu', other: string) =>
    ratios(series(results, BATCHES, figure), series(results, other, figure));
  for (const { stop } of [server, peer]) await stop();
  return {
    figures: [{ columns: columns.map((name) => name.replace('request', 'record')), rows }],
    checks: [
      { what: 'records/s of batches to one by one', measured: toOther('perSecond', ONE_BY_ONE), unit: '×' },
      {
        what: 'records/s of batches to peer',
        measured: toOther('perSecond', PEER),
        unit: '×',
        target: { atLeast: 10 },
      },
      {
        what: 'processor time of all threads a record, to a single upsert',
        measured: toOther('serverCpu', ONE_BY_ONE),
        unit: '×',
        target: { atMost: 0.33 },
      },
    ],
  };
}

export const batch: Scenario = {
  name: 'batch',
  description:
    `The patients of \`upsert\`, ${RECORDS.full.toLocaleString('en-US')} in batches of 50,000 over one connection (in the quick form ` +
    `one batch of ${RECORDS.quick.toLocaleString('en-US')}), against single upserts of as many records at ${CONNECTIONS} connections, ` +
    'by the service and by the peer. Times to the answer are those from the beginning of a batch to a result in it.',
  run,
};
