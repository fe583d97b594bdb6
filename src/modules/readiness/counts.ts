import { v5 as uuidv5 } from 'uuid';
import { readinessModel } from '../../../projections/projection.ts';
import {
  dataAs,
  type JsonObject,
  type NewEvent,
  type Position,
  type RecordedEvent,
} from '../../domain/events/event.ts';
import { newEvent } from '../../domain/events/newEvent.ts';
import {
  type ReadinessCause,
  type ReadinessCounted,
  type ReadinessState,
  readinessStates,
} from '../../domain/events/readinessEvents.ts';
import {
  documentIdsOf,
  kindOfStream,
  readinessCountsStream,
  recordIdOf,
} from '../../domain/events/streams.ts';
import { upcast } from '../../domain/events/upcasting.ts';
import { asUnreadable, UnreadableError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { ModelName, ReadModels, Row } from '../../storage/readModels.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import { BillingHistory, type CachedSteps, ReadinessReplay, type Step } from './replay.ts';
import {
  codesOf,
  filtersOf,
  isAnnouncedAlike,
  mayBeBilled,
  NOT_DUE,
  type WorklistEntry,
  type WorklistFilter,
  worklistEntry,
} from './worklistModel.ts';

/** For ids that are derived from what is announced (RFC 9562, version 5). */
const NAMESPACE = 'b1f6a1de-5f0c-4b0e-9c53-6d2f6f6f9a50';

/**
 * Returns an event that the service appends on its own, in the request that led to it where there is one. Its id is
 * derived from `parts`: a repeat appends nothing.
 */
export function announcement(
  workspace: string,
  parts: readonly unknown[],
  requestId: string | undefined,
  type: string,
  data: JsonObject,
): NewEvent {
  const id = uuidv5(JSON.stringify(parts), NAMESPACE);
  const principal = { type: 'service', id: 'readiness' } as const;
  return { ...newEvent({ workspace, principal, requestId: requestId ?? id }, type, data), id };
}

/** What led to an evaluation. */
export interface Trigger {
  /** Left out where a finding began or ended by itself. */
  cause?: ReadinessCause;
  /** Of the event; beyond all events where there is none. */
  position: Position;
  /** The request that brought it about. */
  requestId?: string;
}

/** Returns what led to an evaluation because of an event. */
export function triggerOf({ id: event_id, stream, revision, position, metadata }: RecordedEvent): Trigger {
  const kind = kindOfStream(stream);
  const id = kind === 'document' ? documentIdsOf(stream).documentId : recordIdOf(stream);
  const cause = { event_id, kind, id, version: revision + 1 };
  return { cause, position, requestId: metadata.requestId };
}

/** The effect of a change to these is announced for all encounters together. */
const settingKinds = ['workspace', 'code_set'];

/**
 * Resolves with the write after which an encounter was as an entry says, from the log alone; undefined where no write
 * did this, or it cannot be read. `remembered`: as for `BillingHistory`. Rejects with `unavailable`.
 */
export async function triggerByLog(
  ports: QueryPorts,
  workspace: string,
  entry: WorklistEntry,
  remembered: CachedSteps,
): Promise<Trigger | undefined> {
  const id = entry.encounter_id;
  const history = new BillingHistory(ports, workspace, Number.POSITIVE_INFINITY, remembered);
  // The entry reflects what the read models have.
  const options = { isPresent: false, mayBeBilled: mayBeBilled(entry) };
  const steps = await history.steps(id, options).catch(asUnreadable);
  return steps instanceof UnreadableError ? undefined : triggerAmong(steps, new ReadinessReplay(id), entry);
}

/**
 * Returns the step, of those to be taken from where a replay is, after which the encounter was as an entry says; undefined where
 * that is none.
 */
export function triggerAmong(
  steps: readonly Step[],
  replay: ReadinessReplay,
  entry: WorklistEntry,
): Trigger | undefined {
  const now = Date.now();
  let found: Step | undefined;
  let wasSo = false;
  for (const step of steps) {
    if (!replay.apply(step)) continue;
    const { facts, findings } = replay;
    const then = facts && worklistEntry({ facts, findings }, now);
    const isSo = then !== undefined && isAnnouncedAlike(then, entry);
    if (isSo && !wasSo) found = step;
    wasSo = isSo;
  }
  if (found === undefined || settingKinds.includes(found.kind)) return undefined;
  const { event, kind, version } = found;
  const cause = { event_id: event.id, kind, id: found.id, version };
  return { cause, position: event.position, requestId: event.metadata.requestId };
}

/**
 * Resolves with the counts of a workspace at the end of each of the last days, up to a number of them, in order.
 * Rejects with `unreadable` and `unavailable`.
 */
export async function readTrend(
  eventLog: EventLog,
  workspace: string,
  days: number,
): Promise<{ day: string; tally: Tally }[]> {
  const stream = readinessCountsStream(workspace);
  const events = await eventLog.readStream(stream, { direction: 'backwards', limit: days });
  return events.toReversed().map((event) => {
    const { day, ...tally } = dataAs<ReadinessCounted>(upcast(event).data);
    return { day, tally };
  });
}

/** Resolves with the present counts of a workspace; they may lag behind the log. Rejects with `unavailable`. */
export async function readTally(readModels: ReadModels, workspace: string): Promise<Tally> {
  const [row] = await readModels.load(talliesModel, [tallyId(workspace)]);
  return row?.body ?? { states: {}, rules: {} };
}

/** Counts as displayed. */
export interface ShownCounts {
  states: Record<ReadinessState, number>;
  /** By the codes of the rules. */
  rules: Record<string, number>;
}

/**
 * Returns a tally's counts for each state, of those with a finding of `rule` where one is given; and by rule, of
 * those in `state`.
 */
export function shownCounts(
  { states, rules }: Tally,
  { state, rule }: { state?: ReadinessState | undefined; rule?: string | undefined },
): ShownCounts {
  const sums: Record<string, number> = {};
  for (const one of state === undefined ? readinessStates : [state]) {
    for (const [code, count] of Object.entries(rules[one] ?? {})) sums[code] = (sums[code] ?? 0) + count;
  }
  const inState = (one: ReadinessState) => (rule === undefined ? states[one] : rules[one]?.[rule]) ?? 0;
  return {
    states: Object.fromEntries(readinessStates.map((one) => [one, inState(one)])) as ShownCounts['states'],
    rules: Object.fromEntries(Object.entries(sums).sort(([, a], [, b]) => b - a)),
  };
}

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

/** Returns the partition that lists the counts of a workspace by days, in their order. */
function daysPartition(workspace: string, by: DayFilter['by']): string {
  return by === 'day' ? `${workspace} days` : `${workspace} days ${by}`;
}

/** A filter by days: of service, or the last ones for filing. */
type DayFilter = TallyFilter & { by: 'day' | 'due' };

function isOfDay(filter: TallyFilter | undefined): filter is DayFilter {
  return filter !== undefined && (filter.by === 'day' || (filter.by === 'due' && filter.value !== NOT_DUE));
}

const DAYS_AT_ONCE = 500;

function dayOfNumber(day: number): string {
  return String(day)
    .padStart(8, '0')
    .replace(/(....)(..)(..)/, '$1-$2-$3');
}

/** Returns the place of a day, such as `2026-03-14`, among days. */
function dayNumber(day: string): number {
  return Number(day.replaceAll('-', ''));
}

/** Yields the days within bounds that have, or once had, encounters, from a day onwards, in order: those of service, by default. */
export async function* daysIn(
  readModels: ReadModels,
  workspace: string,
  { from, to }: { from?: string | undefined; to?: string | undefined },
  first = 0,
  by: DayFilter['by'] = 'day',
): AsyncGenerator<{ day: number; value: string; tally: Tally }> {
  const begin = Math.max(first, from === undefined ? 0 : dayNumber(from));
  const end = to === undefined ? Number.POSITIVE_INFINITY : dayNumber(to);
  const partition = daysPartition(workspace, by);
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
      const body = { states: { ...row?.body.states }, rules: structuredClone(row?.body.rules ?? {}) };
      add(body, tally);
      return {
        id,
        partition: isOfDay(filter) ? daysPartition(this.#workspace, filter.by) : id,
        order: isOfDay(filter) ? dayNumber(filter.value) : 0,
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
