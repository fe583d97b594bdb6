import type { Table } from '../scenario.ts';
import { withRange } from './report.ts';
import { spread } from './statistics.ts';

const LEAST_SHOWN = 0.1;

/** What one thread used, in the unit of the table. */
export interface ThreadShare {
  name: string;
  used: number;
}

/** What each thread of a service used in each round, the one that used most first; those of one name are counted together. */
export function threadTable(columns: [name: string, used: string], rounds: ThreadShare[][]): Table {
  const sums = rounds.map((threads) => {
    const byName = new Map<string, number>();
    for (const { name, used } of threads) byName.set(name, (byName.get(name) ?? 0) + used);
    return byName;
  });
  const names = [...(sums[0]?.keys() ?? [])];
  const rows = names
    .map((name) => ({ name, used: spread(sums.map((byName) => byName.get(name) ?? 0)) }))
    .filter(({ used }) => used.median >= LEAST_SHOWN)
    .sort((a, b) => b.used.median - a.used.median)
    .map(({ name, used }) => [name, withRange(used)]);
  return { columns, rows };
}
