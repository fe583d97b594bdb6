import { readinessModel } from '../../../projections/projection.ts';
import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { type ReadinessState, readinessStates } from '../../domain/events/readinessEvents.ts';
import { kindOfStream, recordIdOf, recordStream, workspaceOfStream } from '../../domain/events/streams.ts';
import type { ModelName, ReadModels, Row } from '../../storage/readModels.ts';
import { allRows } from '../records/queries/paging.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import {
  add,
  daysIn,
  type Tally,
  TallyChanges,
  type TallyFilter,
  type Trigger,
  talliesModel,
  tallyId,
  totalOf,
  triggerOf,
} from './counts.ts';
import { type Evaluation, evaluate, type MayBeBilled } from './evaluate.ts';
import type { FollowedEvents } from './followedEvents.ts';
import { CODE_SET_LOADED } from './rules/codeSets.ts';
import { dayOf, isRuleSetting, type Owner, type RuleSettings } from './rules/rule.ts';
import {
  announcedAt,
  billedAmong,
  entryOf,
  filtersOf,
  isAnnouncedAlike,
  listOf,
  listsOf,
  listsResting,
  mayBeBilled,
  NOT_DUE,
  type WorklistEntry,
  type WorklistFilter,
  worklistEntry,
  worklistModel,
  worklistPartition,
} from './worklistModel.ts';

/** Which encounters are wanted: those that match all of it. */
export interface WorklistSelection {
  state?: ReadinessState | undefined;
  rule?: string | undefined;
  /** Who puts a finding right. */
  owner?: Owner | undefined;
  payer?: string | undefined;
  facility?: string | undefined;
  provider?: string | undefined;
  /** Only encounters that name no such record; with `besides`, those that name one, but none of these. */
  without?: { kind: 'payer' | 'facility' | 'provider'; besides?: readonly string[] | undefined } | undefined;
  /** First and last day of service, such as `2026-03-14`; as the date was sent. */
  from?: string | undefined;
  to?: string | undefined;
  /** First and last of the last days for filing; encounters without a filing limit are not among them. */
  filing?: { from?: string | undefined; to?: string | undefined } | undefined;
  /** Whether a claim was sent for it. */
  billed?: 'true' | 'false' | undefined;
  /** To whom a finding is assigned. */
  assigned?: string | undefined;
  /** Whether somebody has dealt with every finding, or with one of them nobody has. */
  answered?: 'true' | 'false' | undefined;
  /** By the last day for filing, first those with the fewest days left; default: by creation, or by day of service. */
  sort?: 'filing' | undefined;
}

/** An encounter that the walk came to. */
export interface WorklistStep {
  entry: WorklistEntry;
  isWanted: boolean;
  /** Its day as a number where the walk goes by days; otherwise 0. */
  day: number;
  order: number;
}

/** Read at once from each list. */
const CHUNK = 200;

/** Returns the filters by one value, usually the most selective first. */
function valueFilters(selection: WorklistSelection): WorklistFilter[] {
  const { rule, owner, payer, facility, provider, billed, assigned, answered } = selection;
  const all: { by: WorklistFilter['by']; value: string | undefined }[] = [
    { by: 'assigned', value: assigned },
    { by: 'rule', value: rule },
    { by: 'provider', value: provider },
    { by: 'facility', value: facility },
    { by: 'payer', value: payer },
    { by: 'owner', value: owner },
    { by: 'answered', value: answered },
    { by: 'billed', value: billed },
  ];
  return all.filter((one): one is WorklistFilter => one.value !== undefined);
}

/** Days usually leave fewer than these. */
const lessThanDays: readonly WorklistFilter['by'][] = ['owner', 'answered', 'billed'];

/** Whether days of service are asked for. */
function isOfDays({ from, to }: WorklistSelection): boolean {
  return from !== undefined || to !== undefined;
}

/**
 * Yields the encounters on the list that leaves few of them, from after a place on; by days where besides days only
 * `lessThanDays` are asked for; or in the order that is asked for.
 */
export async function* walkWorklist(
  readModels: ReadModels,
  workspace: string,
  selection: WorklistSelection,
  after: Pick<WorklistStep, 'day' | 'order'> = { day: 0, order: -1 },
): AsyncGenerator<WorklistStep> {
  if (selection.sort === 'filing' || selection.filing) {
    yield* byFilingDay(readModels, workspace, selection, after);
    return;
  }
  const [filter] = valueFilters(selection);
  if (!isOfDays(selection) || (filter !== undefined && !lessThanDays.includes(filter.by))) {
    yield* alongLists(readModels, workspace, selection, filter, { ...after, day: 0 });
    return;
  }
  for await (const { day, value } of daysIn(readModels, workspace, selection, after.day)) {
    const order = day === after.day ? after.order : -1;
    yield* alongLists(readModels, workspace, selection, { by: 'day', value }, { day, order });
  }
}

/** Comes after all days. */
const NO_DAY = 99_999_999;

/** Those without a filing limit come last, unless days for filing are asked for. */
async function* byFilingDay(
  readModels: ReadModels,
  workspace: string,
  selection: WorklistSelection,
  after: Pick<WorklistStep, 'day' | 'order'>,
): AsyncGenerator<WorklistStep> {
  const along = (value: string, day: number) =>
    alongLists(
      readModels,
      workspace,
      selection,
      { by: 'due', value },
      { day, order: day === after.day ? after.order : -1 },
    );
  for await (const { day, value } of daysIn(readModels, workspace, selection.filing ?? {}, after.day, 'due'))
    yield* along(value, day);
  if (!selection.filing) yield* along(NOT_DUE, NO_DAY);
}

/** Goes along one list for each state that is wanted, all in the order of creation. */
async function* alongLists(
  readModels: ReadModels,
  workspace: string,
  selection: WorklistSelection,
  filter: WorklistFilter | undefined,
  { day, order: after }: Pick<WorklistStep, 'day' | 'order'>,
): AsyncGenerator<WorklistStep> {
  const states = selection.state === undefined ? readinessStates : [selection.state];
  const partition = worklistPartition(workspace);
  for (let behind = after; ; ) {
    const pages = await Promise.all(
      states.map((state) =>
        readModels.page(worklistModel, {
          partition,
          list: listOf(state, filter),
          after: behind,
          limit: CHUNK,
        }),
      ),
    );
    const rows: Row[] = pages.flat().sort((a, b) => a.order - b.order);
    // After the end of a full page, its list may continue before what others have.
    const ends = pages.flatMap((page) => (page.length === CHUNK ? [page.at(-1)?.order ?? 0] : []));
    const end = Math.min(Number.POSITIVE_INFINITY, ...ends);
    for (const row of rows) {
      const entry = entryOf(row);
      if (row.order > end || entry === undefined) continue;
      yield { entry, isWanted: isWanted(entry, selection), day, order: row.order };
    }
    if (ends.length === 0) return;
    behind = end;
  }
}

/** Whether an encounter matches a selection, apart from its state. */
export function isWanted(entry: WorklistEntry, selection: WorklistSelection): boolean {
  const isIn = (
    day: string | undefined,
    { from = '', to = '9999-12-31' }: { from?: string | undefined; to?: string | undefined },
  ) => day !== undefined && day >= from && day <= to;
  const served = entry.date_of_service && dayOf(entry.date_of_service);
  return (
    (!isOfDays(selection) || isIn(served, selection)) &&
    (!selection.filing || isIn(entry.filing?.last_day, selection.filing)) &&
    passes(entry, selection)
  );
}

function passes(entry: WorklistEntry, selection: WorklistSelection): boolean {
  const filters = valueFilters(selection);
  if (filters.length === 0 && selection.without === undefined) return true;
  const own = filtersOf(entry);
  return (
    isWithout(own, selection) &&
    filters.every(({ by, value }) => own.some((one) => one.by === by && one.value === value))
  );
}

function isWithout(own: readonly WorklistFilter[], { without }: WorklistSelection): boolean {
  if (without === undefined) return true;
  const named = own.find(({ by }) => by === without.kind)?.value;
  return without.besides === undefined
    ? named === undefined
    : named !== undefined && !without.besides.includes(named);
}

/**
 * Resolves with how many encounters there are in each state, and by rule, whatever state and rule are selected;
 * undefined where no counts are kept for the rest of the selection: they are kept for one owner, one payer, one facility, one
 * provider, for what was billed or was not, or for days, not for several of these together. Rejects with `unavailable`.
 */
export async function readCounts(
  readModels: ReadModels,
  workspace: string,
  selection: WorklistSelection,
): Promise<Tally | undefined> {
  const filters = valueFilters(selection).filter((one): one is TallyFilter => one.by !== 'rule');
  const [filter] = filters;
  if (selection.without || selection.filing || filters.length + Number(isOfDays(selection)) > 1)
    return undefined;
  if (!isOfDays(selection)) {
    const [row] = await readModels.load(talliesModel, [tallyId(workspace, filter)]);
    return row?.body ?? { states: {}, rules: {} };
  }
  const sum: Tally = { states: {}, rules: {} };
  for await (const { tally } of daysIn(readModels, workspace, selection)) add(sum, tally);
  return sum;
}

/** Why an encounter is to be evaluated. */
export interface Due {
  /** Its place in the order of creation; left out: it is left alone unless it has one. */
  order?: number;
  trigger: Trigger;
  /** Whether other events led to it as well. */
  isOneOfSeveral?: boolean;
  /** Whether one of them says that something was billed or answered. */
  isBilled?: boolean;
}

/** Encounters of a workspace that are to be evaluated, by their ids. */
export type Encounters = ReadonlyMap<string, Due>;

/** How the entry of an encounter changed. */
export interface EntryChange {
  before: WorklistEntry | undefined;
  after: WorklistEntry | undefined;
  trigger: Trigger;
  /**
   * Whether something other than the trigger may have led to it: another event, or a later write that the facts
   * already include.
   */
  isUnsure: boolean;
  /** Resolves with what led to it, where the events of the batch tell. Rejects with `unavailable`. */
  triggerInBatch?: () => Promise<Trigger | undefined>;
  /** Up to which revision the encounter's readiness stream says what `before` does; undefined where that is not known. */
  announcedAt: number | undefined;
}

/** An encounter that is left alone until an event at this position is followed. */
export interface Waiting extends Due {
  position: Position;
}

/** What encounters are evaluated by. */
interface EvaluationBasis {
  settings: RuleSettings | undefined;
  position: Position;
  batch: FollowedEvents | undefined;
  waitAfter: Position | undefined;
  /** Of what is new in the worklist, and was written up to here, the worklist does not know whether it was billed. */
  unsureUntil: Position;
}

/**
 * Evaluates encounters by what `evaluate` looks at, which has everything up to `position`: resolves with what is to
 * be written for them, and for the counts; only for those that changed. `visits`: where there are any, the ids of the
 * other encounters of the visits, by those of the encounters. Without `settings`, which cannot be read, nothing is
 * reported about any of them. `batch`: the events that led to the evaluation. `waitAfter`: encounters for which the
 * read models have events after this position are left alone, and returned as `waiting`. Rejects with `unavailable`.
 */
export async function evaluateRows(
  ports: QueryPorts,
  workspace: string,
  encounters: Encounters,
  { settings, position, batch, waitAfter = Number.POSITIVE_INFINITY, unsureUntil }: EvaluationBasis,
): Promise<{
  rows: Row[];
  changes: EntryChange[];
  visits: Map<string, string[]>;
  waiting: Map<string, Waiting>;
}> {
  const { readModels } = ports;
  const ids = [...encounters.keys()];
  const streamOf = (id: string) => recordStream(workspace, 'encounter', id);
  const stored = await readModels.load(worklistModel, ids.map(streamOf));
  const rowsBefore = new Map(stored.map((row) => [row.id, row]));
  const hasBilling = (row: Row | undefined) => {
    const entry = entryOf(row);
    return entry !== undefined && mayBeBilled(entry);
  };
  const amongThese: MayBeBilled = async (some) => {
    const others = some.filter((id) => !encounters.has(id));
    const billed = await billedAmong(readModels, workspace, others);
    const isBilled = (id: string) =>
      billed.has(id) || encounters.get(id)?.isBilled === true || hasBilling(rowsBefore.get(streamOf(id)));
    return new Set(some.filter(isBilled));
  };
  const isUnsure = (id: string) =>
    !rowsBefore.has(streamOf(id)) && (encounters.get(id)?.trigger.position ?? 0) <= unsureUntil;
  const evaluated = settings
    ? await evaluate(ports, workspace, ids, settings, amongThese, isUnsure)
    : new Map<string, Evaluation>();
  const now = Date.now();
  const tallies = new TallyChanges(workspace);
  const rows: Row[] = [];
  const changes: EntryChange[] = [];
  const waiting = new Map<string, Waiting>();
  for (const [id, due] of encounters) {
    const { order, trigger, isOneOfSeveral = false } = due;
    const rowBefore = rowsBefore.get(streamOf(id));
    const before = entryOf(rowBefore);
    const evaluation = evaluated.get(id);
    if (evaluation && evaluation.position > waitAfter) {
      waiting.set(id, { ...due, position: evaluation.position });
      evaluated.delete(id);
      continue;
    }
    const after = evaluation && worklistEntry(evaluation, now);
    const place = rowBefore?.order ?? order;
    if (place === undefined) continue;
    if (rowBefore && JSON.stringify(before) === JSON.stringify(after)) continue;
    tallies.count(before, -1);
    tallies.count(after, 1);
    const isAhead = evaluation !== undefined && evaluation.position > trigger.position;
    changes.push({
      ...{ before, after, trigger, isUnsure: isOneOfSeveral || isAhead },
      ...(batch &&
        settings &&
        evaluation &&
        after && { triggerInBatch: () => batch.trigger(workspace, evaluation, settings, after) }),
      announcedAt: announcedAt(rowBefore),
    });
    const isSaid = before !== undefined && after !== undefined && isAnnouncedAlike(before, after);
    rows.push({
      id: streamOf(id),
      partition: after ? worklistPartition(workspace) : `${workspace} left out`,
      order: place,
      // It rises with each write, also where something that the encounter depends on changed and nothing came after
      // it.
      position: Math.max(position, (rowBefore?.position ?? 0) + 1),
      body: isSaid ? { ...after, announced_at: announcedAt(rowBefore) } : (after ?? {}),
      ...(after && { lists: listsOf(after) }),
    });
  }
  const counted = await readModels.load(talliesModel, tallies.ids);
  const visits = new Map<string, string[]>();
  for (const [id, { facts }] of evaluated) {
    const others = (facts.sameVisit ?? []).map((other) => other.id);
    if (others.length > 0) visits.set(id, others);
  }
  return { rows: [...rows, ...tallies.rows(counted, position)], changes, visits, waiting };
}

/** Many encounters that are to be evaluated again because something on which they depend has changed. */
export interface FanOut {
  workspace: string;
  /** Of the record that changed; `workspace` for its rule settings, `code_set` for a set that was loaded. */
  kind: string;
  id: string;
  /** Lists that are still to be gone through; the first one from after `after` on. Null: all encounters. */
  lists: (string | null)[];
  after: number;
  trigger: Trigger;
  /** It continues another one: an earlier change of the record may be the cause of what is found. */
  isOneOfSeveral?: true;
  /** The rule settings have changed: no encounter is announced because of that. */
  isQuiet: boolean;
  /** Where it is quiet: encounters in each state before. */
  before?: Tally['states'];
  /** Encounters. */
  done: number;
  /** As far as they are counted; otherwise 0. */
  total: number;
}

/** The body of one that is finished. */
type Done = Record<never, never>;

export const fanOutsModel = readinessModel as ModelName<FanOut | Done>;

/** Kinds by whose records encounters are not counted. */
const uncounted = ['patient', 'encounter'];

/** Returns the partition that lists what is under way in a workspace, in the order in which it began. */
export function fanOutsPartition(workspace: string): string {
  return `${workspace} under way`;
}

/** Whether all encounters of a workspace depend on what an event changed: on the rule settings. */
export function isOfAll({ type }: Pick<RecordedEvent, 'type'>): boolean {
  return type === CODE_SET_LOADED || isRuleSetting(type);
}

/**
 * Returns the workspaces, among those that have encounters, some of whose encounters may depend on what an event
 * changed.
 */
export function workspacesOf(
  { type, stream }: Pick<RecordedEvent, 'stream' | 'type'>,
  all: readonly string[],
): readonly string[] {
  return type === CODE_SET_LOADED ? all : all.filter((workspace) => workspace === workspaceOfStream(stream));
}

/**
 * Resolves with what has to be evaluated again in a workspace because of an event of a record, or of the rule
 * settings, as a row.
 */
export async function fanOutOf(
  readModels: ReadModels,
  workspace: string,
  event: RecordedEvent,
): Promise<Row<FanOut>> {
  const { stream, position } = event;
  const isSetting = isRuleSetting(event.type);
  const [kind, id] = isSetting ? ['workspace', workspace] : [kindOfStream(stream), recordIdOf(stream)];
  const lists = isOfAll(event) ? [null] : listsResting(kind, id);
  const counted = isOfAll(event) ? {} : uncounted.includes(kind) ? undefined : { [kind]: id };
  const counts = counted && (await readCounts(readModels, workspace, counted));
  return {
    id: `${workspace} fan-out ${position}`,
    partition: fanOutsPartition(workspace),
    order: position,
    position,
    body: {
      workspace,
      kind,
      id,
      lists,
      after: -1,
      trigger: triggerOf(event),
      isQuiet: isOfAll(event),
      ...(isOfAll(event) && counts && { before: counts.states }),
      done: 0,
      total: counts ? totalOf(counts) : 0,
    },
  };
}

/** Resolves with the next encounters, at most `limit`. */
export async function nextOf(
  readModels: ReadModels,
  { workspace, lists: [list = null], after }: Pick<FanOut, 'workspace' | 'lists' | 'after'>,
  limit: number,
): Promise<Row[]> {
  return readModels.page(worklistModel, { ...queryOf(workspace, list), after, limit });
}

/**
 * Returns the row of a fan-out after a step that went through `rows`, of at most `limit`; after the last step it has
 * no lists.
 */
export function afterStep(row: Row<FanOut>, rows: readonly Row[], limit: number): Row<FanOut> {
  const { body } = row;
  const isThrough = rows.length < limit;
  const lists = isThrough ? body.lists.slice(1) : body.lists;
  const next = { ...row, position: row.position + 1 };
  const after = isThrough ? -1 : ((rows.at(-1)?.order ?? -1) as Position);
  return { ...next, body: { ...body, lists, after, done: body.done + rows.length } };
}

/** Returns the row of a finished fan-out. */
export function doneRow(row: Row<FanOut>): Row<Done> {
  return { ...row, position: row.position + 1, partition: `${row.body.workspace} done`, body: {} };
}

function queryOf(workspace: string, list: string | null) {
  return { partition: worklistPartition(workspace), ...(list !== null && { list }) };
}

/**
 * What is under way in all workspaces, in turns. A change of a record takes the place of what is under way because of
 * an earlier change of the same record.
 */
export class FanOuts {
  #rows: Row<FanOut>[] = [];

  /** Resolves with what the read model says is under way. Rejects with `unavailable`. */
  static async open(readModels: ReadModels, workspaces: readonly string[]): Promise<FanOuts> {
    const fanOuts = new FanOuts();
    for (const workspace of workspaces) {
      for await (const row of allRows(readModels, fanOutsModel, fanOutsPartition(workspace))) {
        if ('lists' in row.body) fanOuts.#rows.push(row as Row<FanOut>);
      }
    }
    return fanOuts;
  }

  /** Whose turn it is. */
  get first(): Row<FanOut> | undefined {
    return this.#rows[0];
  }

  /**
   * Adds rows, and returns what is to be written: they may continue others, which then end. A row that is there already, because
   * its event is read again after an interruption, stays as it is.
   */
  add(rows: readonly Row<FanOut>[]): Row[] {
    return rows.flatMap((row) => {
      if (this.#rows.some(({ id }) => id === row.id)) return [];
      const earlier = this.#rows.filter((other) => isReplaced(other.body, row.body));
      const [first] = earlier;
      const added = first ? continued(row, first.body) : row;
      this.#rows = [...this.#rows.filter((other) => !earlier.includes(other)), added];
      return [...earlier.map(doneRow), added];
    });
  }

  /** Ends a turn: `after` waits for its next one. Returns false when another row has taken the place of this one. */
  advance(row: Row<FanOut>, after?: Row<FanOut>): boolean {
    const at = this.#rows.indexOf(row);
    if (at === -1) return false;
    this.#rows.splice(at, 1);
    if (after) this.#rows.push(after);
    return true;
  }
}

/** What all encounters depend on ends with an announcement each time. */
function isReplaced(earlier: FanOut, later: FanOut): boolean {
  const isSame =
    earlier.workspace === later.workspace && earlier.kind === later.kind && earlier.id === later.id;
  return isSame && !earlier.isQuiet && !later.isQuiet && earlier.lists.length > 0;
}

/**
 * Begins where an earlier one was, and goes through that list once more at the end: if changes keep coming faster than it goes
 * through the lists, every encounter still gets its turn.
 */
function continued(row: Row<FanOut>, { lists: [current = null], after }: FanOut): Row<FanOut> {
  const { lists } = row.body;
  const at = lists.indexOf(current);
  return {
    ...row,
    body: {
      ...row.body,
      lists: [...lists.slice(at), ...lists.slice(0, at), current],
      after,
      isOneOfSeveral: true,
    },
  };
}
