import type { Bench, Check, Report, Scenario, Table } from '../scenario.ts';
import { requireSyncs } from '../support/requireSyncs.ts';
import {
  columns,
  type Figure,
  inTurns,
  type Measurement,
  rowsOf,
  series,
  warmUp,
} from '../support/rounds.ts';
import { ratios, spread } from '../support/statistics.ts';
import { fdatasyncRate } from '../support/syncs/disk.ts';
import { threadTable } from '../support/threadTable.ts';
import { startUpsertContestants, type UpsertContestants } from '../support/upsertContestants.ts';

type Results = Map<string, Measurement[]>;

const CONNECTIONS = [1, 16, 64, 256] as const;
const DISK_SECONDS = 0.5;
/** Connections at which processor time is compared: the two processors are fully used, and no queue is long. */
const BUSY = 64;
const SYNC_MS = [0.5, 2];
/** What the quick form keeps of the tables of slowed syncs. */
const QUICK = { syncMs: [2], connections: [1, 64] };

interface Target {
  atLeast: number;
  stretch?: number;
}
const toPeer: Record<number, Target> = {
  1: { atLeast: 0.95, stretch: 1 },
  16: { atLeast: 3.1, stretch: 3.3 },
  64: { atLeast: 4.2, stretch: 4.5 },
  256: { atLeast: 4.4, stretch: 4.8 },
};
const toPeerAt2Ms: Record<number, Target> = {
  1: { atLeast: 1 },
  16: { atLeast: 12 },
  64: { atLeast: 30 },
  256: { atLeast: 45 },
};
const toFloor: Record<number, Target> = {
  16: { atLeast: 0.75, stretch: 0.85 },
  64: { atLeast: 1.1, stretch: 1.2 },
  256: { atLeast: 1, stretch: 1.2 },
};

const at = (connections: number) => (connections === 1 ? '1 connection' : `${connections} connections`);

/** Returns the service's figures relative to those of another contestant, round by round. */
function ratio(results: Results, figure: Figure, to: string) {
  return ratios(series(results, 'chartledger', figure), series(results, to, figure));
}

function throughput(results: Results, where: string, to: string, target?: Target): Check {
  return {
    what: `${where}: upserts/s to ${to}`,
    measured: ratio(results, 'perSecond', to),
    unit: '×',
    ...(target && { target }),
  };
}

function processorTime(results: Results): Check {
  return {
    what: `${at(BUSY)}: processor time of all threads an upsert, to the limit`,
    measured: ratio(results, 'serverCpu', 'limit'),
    unit: '×',
    target: { atMost: 3 },
  };
}

/** On the disk as it is. */
async function native(bench: Bench, { contestants }: UpsertContestants): Promise<Report> {
  const figures: Table = { columns, rows: [] };
  const tables = [figures];
  const checks: Check[] = [];
  const syncMs: number[] = [];
  for (const connections of CONNECTIONS) {
    const here: number[] = [];
    const results = await inTurns(bench, contestants, connections, () => {
      here.push(1000 / fdatasyncRate(bench.folder, DISK_SECONDS));
    });
    requireSyncs(results.get('peer'));
    syncMs.push(...here);
    figures.rows.push(...rowsOf(connections, results));
    if (connections === BUSY) {
      checks.unshift(processorTime(results));
      const rounds = (results.get('chartledger') ?? []).map(({ threads }) =>
        threads.map(({ name, microseconds }) => ({ name, used: microseconds })),
      );
      tables.push(threadTable([`thread, at ${at(BUSY)}`, 'CPU µs a request'], rounds));
    }
    checks.push(throughput(results, at(connections), 'peer', toPeer[connections]));
    if (connections === 1) {
      const floor = series(results, 'floor', 'p50').map((p50, round) => p50 + (here[round] as number));
      checks.push({
        what: `${at(connections)}: p50 to floor p50 and one sync`,
        measured: ratios(series(results, 'chartledger', 'p50'), floor),
        unit: '×',
        target: { atMost: 1.3 },
      });
    } else {
      checks.push(throughput(results, at(connections), 'floor', toFloor[connections]));
      checks.push(throughput(results, at(connections), 'limit'));
    }
  }
  checks.push({ what: 'disk: a sync of 1 KB that was appended', measured: spread(syncMs), unit: 'ms' });
  return { figures: tables, checks };
}

/** The service and the peer where each sync takes at least `leastMs`. */
async function slowed(bench: Bench, all: UpsertContestants, leastMs: number): Promise<Report> {
  const contestants = all.contestants.filter(({ name }) => ['chartledger', 'peer'].includes(name));
  for (const { slowSyncs } of all.servers) slowSyncs?.(leastMs);
  const figures: Table = { columns: ['syncs', ...columns], rows: [] };
  const checks: Check[] = [];
  for (const connections of bench.quick ? QUICK.connections : CONNECTIONS) {
    const results = await inTurns(bench, contestants, connections);
    requireSyncs(results.get('peer'));
    figures.rows.push(...rowsOf(connections, results).map((row) => [`${leastMs} ms`, ...row]));
    const target = leastMs === 2 ? toPeerAt2Ms[connections] : undefined;
    checks.push(throughput(results, `syncs of ${leastMs} ms, ${at(connections)}`, 'peer', target));
  }
  return { figures: [figures], checks };
}

async function run(bench: Bench): Promise<Report> {
  const all = await startUpsertContestants(bench);
  await warmUp(bench, all.contestants);
  const report = await native(bench, all);
  const slow = bench.quick ? QUICK.syncMs : SYNC_MS;
  for (const leastMs of bench.syncLibrary === undefined ? [] : slow) {
    bench.progress(`syncs of ${leastMs} ms`);
    const { figures, checks } = await slowed(bench, all, leastMs);
    report.figures.push(...figures);
    report.checks.push(...checks);
  }
  for (const server of all.servers) await server.stop();
  return report;
}

export const upsert: Scenario = {
  name: 'upsert',
  description:
    'Patients of 1 KB that name a payer, new and existing mixed, each with another address, against an Express echo ' +
    '(floor), a `node:http` echo (limit), and Express with zod and one durable UPSERT a request without history (peer).',
  run,
};
