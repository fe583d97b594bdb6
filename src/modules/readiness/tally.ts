import { readinessModel } from '../../../projections/readinessModel.ts';
import type { ModelName, ReadModels, Row } from '../../storage/readModels.ts';
import { type ReadinessState, readinessStates } from './rules/findings.ts';
import { codesOf, type WorklistEntry } from './worklistEntry.ts';
import { filtersOf, type WorklistFilter } from './worklistLists.ts';

/** How many encounters are in each state, and how many of these have a finding of each rule. */
export interface Tally {
  states: Partial<Record<ReadinessState, number>>;
  /** By the codes of the rules. */
  rules: Partial<Record<ReadinessState, Record<string, number>>>;
}

/** Whether a tally counts no encounter in any state. */
export function isEmpty({ states }: Tally): boolean {
  return Object.values(states).every((count) => count === 0);
}

/** The read model of readiness, for its rows of counts. */
export const talliesModel = readinessModel as ModelName<Tally>;

/** What a row of counts covers: all encounters of a workspace, or those that match a filter. */
export type TallyFilter = WorklistFilter & { by: Exclude<WorklistFilter['by'], 'rule'> };

/** Returns the id of the row that counts. */
export function tallyId(workspace: string, filter?: TallyFilter): string {
  return filter === undefined ? `${workspace} tally` : `${workspace} tally ${filter.by}=${filter.value}`;
}

/** Returns the partition that lists the daily counts of a workspace, in the order of the days. */
export function daysPartition(workspace: string): string {
  return `${workspace} days`;
}

const DAYS_AT_ONCE = 500;

function dayOfNumber(day: number): string {
  return String(day)
    .padStart(8, '0')
    .replace(/(....)(..)(..)/, '$1-$2-$3');
}

/** Returns the place of a day, such as `2026-03-14`, among days. */
export function dayNumber(day: string): number {
  return Number(day.replaceAll('-', ''));
}

/** Yields the days within bounds that have, or once had, encounters, from a day onwards, in order. */
export async function* daysIn(
  readModels: ReadModels,
  workspace: string,
  { from, to }: { from?: string | undefined; to?: string | undefined },
  first = 0,
): AsyncGenerator<{ day: number; value: string; tally: Tally }> {
  const begin = Math.max(first, from === undefined ? 0 : dayNumber(from));
  const end = to === undefined ? Number.POSITIVE_INFINITY : dayNumber(to);
  const partition = daysPartition(workspace);
  for (let after = begin - 1; ; ) {
    const rows = await readModels.page(talliesModel, { partition, after, limit: DAYS_AT_ONCE });
    for (const { order: day, body: tally } of rows) {
      if (day > end) return;
      yield { day, value: dayOfNumber(day), tally };
    }
    if (rows.length < DAYS_AT_ONCE) return;
    after = rows.at(-1)?.order ?? after;
  }
}

/** Changes of counts, gathered to be written at once. */
export class TallyChanges {
  readonly #workspace: string;
  readonly #changes = new Map<string, { filter: TallyFilter | undefined; tally: Tally }>();

  constructor(workspace: string) {
    this.#workspace = workspace;
  }

  /** Adds an encounter to the counts (1), or takes it out again (-1). */
  count(entry: WorklistEntry | undefined, by: 1 | -1): void {
    if (entry === undefined) return;
    const filters = filtersOf(entry).filter((filter): filter is TallyFilter => filter.by !== 'rule');
    for (const filter of [undefined, ...filters]) {
      const id = tallyId(this.#workspace, filter);
      const change = this.#changes.get(id) ?? { filter, tally: { states: {}, rules: {} } };
      this.#changes.set(id, change);
      add(change.tally, {
        states: { [entry.state]: by },
        rules: { [entry.state]: ofEach(codesOf(entry), by) },
      });
    }
  }

  get ids(): string[] {
    return [...this.#changes.keys()];
  }

  /** Returns the rows after the changes. */
  rows(before: readonly Row<Tally>[], position: number): Row<Tally>[] {
    const byId = new Map(before.map((row) => [row.id, row]));
    return [...this.#changes].map(([id, { filter, tally }]) => {
      const row = byId.get(id);
      const isDay = filter?.by === 'day';
      const body = { states: { ...row?.body.states }, rules: structuredClone(row?.body.rules ?? {}) };
      add(body, tally);
      return {
        id,
        partition: isDay ? daysPartition(this.#workspace) : id,
        order: isDay ? dayNumber(filter.value) : 0,
        position: Math.max(position, (row?.position ?? 0) + 1),
        body,
      };
    });
  }
}

/** Returns how many encounters there are in all. */
export function totalOf({ states }: Tally): number {
  return Object.values(states).reduce((sum, count) => sum + count, 0);
}

/** Adds counts to others; whatever becomes zero is left out. */
export function add(to: Tally, more: Tally): void {
  addEach(to.states, more.states);
  for (const state of readinessStates) {
    const rules = more.rules[state];
    if (rules === undefined) continue;
    to.rules[state] ??= {};
    addEach(to.rules[state], rules);
  }
}

function addEach(to: Partial<Record<string, number>>, more: Partial<Record<string, number>>): void {
  for (const [name, count = 0] of Object.entries(more)) {
    const sum = (to[name] ?? 0) + count;
    if (sum === 0) delete to[name];
    else to[name] = sum;
  }
}

function ofEach(codes: readonly string[], count: number): Record<string, number> {
  return Object.fromEntries(codes.map((code) => [code, count]));
}
