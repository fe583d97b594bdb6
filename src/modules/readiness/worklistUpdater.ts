import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { readinessModel } from '../../../projections/projection.ts';
import { documentsModel, recordsModel } from '../../../projections/records.ts';
import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { RECORD_ERASED } from '../../domain/events/payloads.ts';
import {
  encounterOfDocument,
  kindOfStream,
  recordIdOf,
  workspaceOfStream,
} from '../../domain/events/streams.ts';
import { catalog } from '../../domain/records/catalog.ts';
import { documentEventTypes } from '../../domain/records/document.ts';
import type { EventBatch, FollowOptions } from '../../storage/eventLog.ts';
import type { ModelName, ReadModels, Row } from '../../storage/readModels.ts';
import {
  loadCheckpoint,
  requestRebuild,
  runWhileLogUnchanged,
  type SameLogPorts,
  waitForRebuildRequest,
} from '../projections/checkpoints.ts';
import type { ProjectedBatches } from '../projections/projectedBatches.ts';
import { allRows, growingPauses } from '../records/queries/paging.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import { announceChanges, announceRules } from './announce.ts';
import { type Trigger, triggerOf } from './counts.ts';
import { FollowedEvents } from './followedEvents.ts';
import { FollowedSettings } from './followedSettings.ts';
import { RecordInputs } from './inputs.ts';
import { CODE_SET_LOADED } from './rules/codeSets.ts';
import { rulesDigest } from './rules/index.ts';
import { dayOf, ruleSettingTypes } from './rules/rule.ts';
import { countDay } from './worklist.ts';
import {
  afterStep,
  type Due,
  doneRow,
  type Encounters,
  evaluateRows,
  FanOuts,
  fanOutOf,
  isOfAll,
  nextOf,
  type Waiting,
  workspacesOf,
} from './worklistFanOut.ts';
import {
  entryOf,
  flipsList,
  listsResting,
  MINUTE_MS,
  minuteOf,
  rulesVersion,
  WorklistRows,
  withAnnouncement,
  worklistModel,
  worklistPartition,
} from './worklistModel.ts';

/** Encounters evaluated, and written, at once. */
const AT_ONCE = 500;
/** The same in a step of a fan-out: what was written last waits for a step at most. */
const A_STEP = 100;

const workspacesModel = readinessModel as ModelName<{ workspace: string }>;
const WORKSPACES = 'workspaces';
/** What the worklist is built by: the rules, and since which position of the log. */
const begunModel = readinessModel as ModelName<{ at: Position; rules?: string }>;
const BEGUN = 'begun';

interface EvaluationOptions {
  beside?: readonly Row[];
  isQuiet?: boolean;
  batch?: FollowedEvents;
  waitAfter?: Position | undefined;
}

/** Shared by all that keep up the worklist: they evaluate one after the other, as each changes the counts. */
export class WorklistWork {
  readonly settings: FollowedSettings;
  readonly #ports: QueryPorts;
  readonly #rows: WorklistRows;
  readonly #workspaces = new Set<string>();
  readonly #quietUntil: Position;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(ports: QueryPorts, rows: WorklistRows, quietUntil: Position) {
    this.settings = new FollowedSettings(ports.eventLog);
    this.#ports = ports;
    this.#rows = rows;
    this.#quietUntil = quietUntil;
  }

  /** Rejects with `unavailable`. */
  static async open(ports: QueryPorts): Promise<WorklistWork> {
    const rows = await WorklistRows.open(ports.readModels);
    const work = new WorklistWork(ports, rows, await begunAt(ports, rows));
    for await (const { body } of allRows(ports.readModels, workspacesModel, WORKSPACES)) {
      work.#workspaces.add(body.workspace);
    }
    return work;
  }

  /** Those that have encounters. */
  get workspaces(): readonly string[] {
    return [...this.#workspaces];
  }

  /**
   * Evaluates encounters by what is known at `position` or later, announces the changes, unless it is quiet, and
   * writes them; with the last of them the rows `beside`. `batch`: the events that led to it; `waitAfter`: encounters for which the
   * read models have events after this position are left alone. Resolves with these, and with the ids of the other encounters of the visits of the rest, where there are any, by
   * their own ids. Rejects with `unavailable`.
   */
  async evaluate(
    workspace: string,
    encounters: Encounters,
    position: Position,
    { beside = [], isQuiet = false, batch, waitAfter }: EvaluationOptions = {},
  ): Promise<{ visits: Map<string, string[]>; waiting: Map<string, Waiting> }> {
    const chunks = chunksOf(encounters);
    const found = { visits: new Map<string, string[]>(), waiting: new Map<string, Waiting>() };
    for (const [index, chunk] of chunks.entries()) {
      await this.#alone(async () => {
        const settings = await this.settings.of(workspace);
        const { rows, changes, visits, waiting } = await evaluateRows(this.#ports, workspace, chunk, {
          settings,
          position,
          batch,
          waitAfter,
          unsureUntil: this.#quietUntil,
        });
        if (!isQuiet && settings) {
          const announcing = {
            workspace,
            rulesVersion: rulesVersion(settings),
            quietUntil: this.#quietUntil,
          };
          const announced = await announceChanges(this.#ports, changes, announcing);
          for (const [at, row] of rows.entries()) rows[at] = withAnnouncement(row, announced);
        }
        const known = this.#workspaces.has(workspace) ? [] : workspaceRows(workspace, chunk, position);
        await this.#rows.write([...known, ...rows, ...(index === chunks.length - 1 ? beside : [])]);
        this.#workspaces.add(workspace);
        for (const [id, ids] of visits) found.visits.set(id, ids);
        for (const [id, due] of waiting) found.waiting.set(id, due);
      });
      await nextTurn();
    }
    return found;
  }

  /** Writes rows, then the checkpoint. Rejects with `unavailable`. */
  write(rows: Row[], checkpoint?: Position): Promise<void> {
    return this.#alone(() => this.#rows.write(rows, checkpoint));
  }

  #alone<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }
}

/** Resolves with where the log ended when the worklist was begun. */
async function begunAt({ eventLog, readModels }: QueryPorts, rows: WorklistRows): Promise<Position> {
  const [begun] = await readModels.load(begunModel, [BEGUN]);
  if (begun) return begun.body.at;
  const at = await eventLog.head();
  const body = { at, rules: rulesDigest };
  await rows.write([{ id: BEGUN, partition: BEGUN, order: 0, position: 1, body }]);
  return at;
}

/** Returns at least one chunk, which may be empty. */
function chunksOf(encounters: Encounters): Encounters[] {
  const all = [...encounters];
  const count = Math.max(1, Math.ceil(all.length / AT_ONCE));
  return Array.from({ length: count }, (_, at) => new Map(all.slice(at * AT_ONCE, (at + 1) * AT_ONCE)));
}

function workspaceRows(workspace: string, encounters: Encounters, position: Position): Row[] {
  const [order] = [...encounters.values()].flatMap((due) => due.order ?? []);
  if (order === undefined) return [];
  return [{ id: `${workspace} workspace`, partition: WORKSPACES, order, position, body: { workspace } }];
}

/** Up to this many encounters that depend on a record are evaluated with the batch that changed it. */
const FEW = 200;
/** Events up to which an evaluation may be postponed. */
const MOST_POSTPONED = 1_000;
/** Changes looked at in parallel. */
const SIDE_BY_SIDE = 16;

const billingTypes = [
  'EncounterBilled',
  'BillingChangeAcknowledged',
  'FindingAnswered',
  'ClaimOutcomeReported',
];
/** The types of the events that may change the worklist. */
export const worklistEventTypes = [
  ...catalog.map(({ eventType }) => eventType),
  ...documentEventTypes,
  ...[...billingTypes, RECORD_ERASED, ...ruleSettingTypes, CODE_SET_LOADED],
];

interface WorklistPorts extends SameLogPorts, Pick<FollowOptions, 'gather'> {
  /** From the projector in the same thread; without one, the log is read. */
  batches: ProjectedBatches;
}

/** Encounters to be evaluated, by workspace and id. */
type AllDue = Map<string, Map<string, Due>>;

/**
 * Follows the log from `after` on, until the signal: whatever an event changes in the worklist is evaluated once the
 * read models of records and documents have it. Where they also have later events of the same records, it is postponed to the batch
 * with those: what led to the result is then among the events at hand. Where more than a few depend on a record, they go to `fanOuts`
 * instead. Rejects with `unavailable`.
 */
async function followRecords(
  { batches, ...ports }: WorklistPorts,
  work: WorklistWork,
  options: Pick<FollowOptions, 'after' | 'gather' | 'signal'>,
  fanOuts: FanOuts,
): Promise<void> {
  const { eventLog, readModels } = ports;
  const { signal } = options;
  const inputs = new RecordInputs(eventLog);
  let postponed: AllDue = new Map();
  /** Those of the batch, and of earlier ones as far back as something was postponed. */
  let events: RecordedEvent[] = [];
  for await (const batch of batches.follow(eventLog, worklistEventTypes, options)) {
    for (const model of [recordsModel, documentsModel]) {
      if (!(await isReached(readModels, model, batch.position, signal))) return;
    }
    work.settings.follow(batch);
    events = postponed.size > 0 ? [...events, ...batch.events] : batch.events;
    const { due, fanOuts: many } = await changedBy(readModels, inputs, batch, postponed);
    postponed = new Map();
    const options = { batch: new FollowedEvents(eventLog, events) };
    const mayWait = events.length < MOST_POSTPONED;
    const evaluate = async (workspace: string, encounters: Encounters) => {
      const waitAfter = mayWait ? batch.position : undefined;
      const evaluated = await work.evaluate(workspace, encounters, batch.position, { ...options, waitAfter });
      const { visits, waiting } = evaluated;
      if (waiting.size === 0) return visits;
      const last = Math.max(...Array.from(waiting.values(), ({ position }) => position));
      // What the log does not have, as after a restore, would be waited for in vain.
      if (!batch.caughtUp || (await eventLog.head()) >= last) {
        postponed.set(workspace, new Map([...(postponed.get(workspace) ?? []), ...waiting]));
        return visits;
      }
      const rest = await work.evaluate(workspace, waiting, batch.position, options);
      return new Map([...visits, ...rest.visits]);
    };
    for (const [workspace, encounters] of due) {
      const others = othersOf(await evaluate(workspace, encounters), encounters);
      if (others.size > 0) await evaluate(workspace, others);
    }
    const rows = await Promise.all(
      many.flatMap((event) =>
        workspacesOf(event, work.workspaces).map((workspace) => fanOutOf(readModels, workspace, event)),
      ),
    );
    await work.write(fanOuts.add(rows), postponed.size > 0 ? 0 : batch.position);
  }
}

/** Waits for a read model; resolves with false at the signal. */
async function isReached(
  readModels: ReadModels,
  model: string,
  position: Position,
  signal: AbortSignal,
): Promise<boolean> {
  for (const pause = growingPauses(signal); (await readModels.checkpoint(model)) < position; await pause()) {
    if (signal.aborted) return false;
  }
  return true;
}

/**
 * Resolves with what is to be evaluated because of a batch, or was postponed: for a record that others depend on only if a field
 * changed that rules read.
 */
async function changedBy(
  readModels: ReadModels,
  inputs: RecordInputs,
  { events }: EventBatch,
  postponed: AllDue,
): Promise<{ due: AllDue; fanOuts: RecordedEvent[] }> {
  const due: AllDue = new Map(postponed);
  const changes = new Map<string, RecordedEvent[]>();
  const settings = new Map<string, RecordedEvent>();
  for (const event of events) {
    const { stream } = event;
    const kind = kindOfStream(stream);
    const isBilled = billingTypes.includes(event.type);
    if (kind === 'encounter' || isBilled) addTo(due, stream, event.position, event);
    if (kind === 'document') addTo(due, encounterOfDocument(stream), event.position, event);
    else if (isOfAll(event)) settings.set(stream, event);
    else if (kind !== 'encounter' && !isBilled) inputs.follow(event);
    // Nothing depends on what is new, or was billed.
    if (event.revision > 0 && kind !== 'document' && !isBilled && !isOfAll(event)) {
      const earlier = changes.get(stream);
      if (earlier) earlier.push(event);
      else changes.set(stream, [event]);
    }
  }
  const fanOuts = [...settings.values()];
  const byWorkspace = Map.groupBy(changes.values(), ([event]) =>
    workspaceOfStream((event as RecordedEvent).stream),
  );
  for (const [workspace, changed] of byWorkspace) {
    for (let at = 0; at < changed.length; at += SIDE_BY_SIDE) {
      const some = changed.slice(at, at + SIDE_BY_SIDE);
      const dependent = await dependentRows(readModels, workspace, some);
      await Promise.all(
        dependent.map(async ([ofRecord, rows]) => {
          const last = ofRecord.at(-1) as RecordedEvent;
          // Other encounters of a visit are evaluated in any case.
          const isEncounter = kindOfStream(last.stream) === 'encounter';
          if (rows.length === 0 || !(isEncounter || (await inputs.changed(ofRecord)))) return;
          if (rows.length > FEW) fanOuts.push(last);
          else for (const { id, order } of rows) addTo(due, id, order, last);
        }),
      );
    }
  }
  return { due, fanOuts };
}

/**
 * Resolves with the events of each record and the rows of encounters that depend on it: more than a few, where there
 * are more.
 */
async function dependentRows(
  readModels: ReadModels,
  workspace: string,
  changed: readonly RecordedEvent[][],
): Promise<(readonly [RecordedEvent[], Row[]])[]> {
  const partition = worklistPartition(workspace);
  const lists = changed.map(([event]) => {
    const { stream } = event as RecordedEvent;
    return listsResting(kindOfStream(stream), recordIdOf(stream));
  });
  const query = { partition, lists: lists.flat(), limit: FEW + 1 };
  const heads = await readModels.heads(worklistModel, query);
  return changed.map((events, index) => [events, heads.splice(0, lists[index]?.length ?? 0).flat()] as const);
}

/** Returns the others of the visits of evaluated encounters, except for those that were evaluated themselves. */
function othersOf(visits: ReadonlyMap<string, readonly string[]>, evaluated: Encounters): Encounters {
  const others = new Map<string, Due>();
  for (const [id, ids] of visits) {
    const { trigger, isOneOfSeveral = false } = evaluated.get(id) as Due;
    for (const other of ids) {
      if (!evaluated.has(other)) addDue(others, other, { trigger, isOneOfSeveral });
    }
  }
  return others;
}

function addTo(due: AllDue, stream: string, order: number, event: RecordedEvent): void {
  const workspace = workspaceOfStream(stream);
  const encounters = due.get(workspace) ?? new Map<string, Due>();
  const isBilled = billingTypes.includes(event.type);
  addDue(encounters, recordIdOf(stream), { order, trigger: triggerOf(event), isBilled });
  due.set(workspace, encounters);
}

/** The first event of an encounter gives its place; the last one is the most likely cause of its state. */
function addDue(encounters: Map<string, Due>, id: string, due: Due): void {
  const before = encounters.get(id);
  if (before === undefined) encounters.set(id, due);
  else {
    const { trigger } = before.trigger.position < due.trigger.position ? due : before;
    const isBilled = before.isBilled === true || due.isBilled === true;
    // One that was postponed as another of its visit has no place yet.
    encounters.set(id, { ...due, ...before, trigger, isOneOfSeveral: true, isBilled });
  }
}

const POLL_MS = 1_000;
/** Where more minutes than these have passed, all encounters are gone through instead: a clock may be decades off. */
const MOST_MINUTES = 1_440;
const BY_ITSELF: Trigger = { position: Number.POSITIVE_INFINITY };

/**
 * The minute, counted from 1970, up to which findings that begin or end by themselves were looked at; and the day (UTC)
 * to be counted once it has ended, by default the day of that minute.
 */
const clockModel = readinessModel as ModelName<{ minute: number; day?: string }>;
const CLOCK = 'clock';

/**
 * Evaluates encounters again when one of their findings begins or ends by itself, and counts them when a day ends,
 * until the signal. Rejects with `unavailable`.
 */
export async function watchClock(ports: QueryPorts, work: WorklistWork, signal: AbortSignal): Promise<void> {
  const [saved] = await ports.readModels.load(clockModel, [CLOCK]);
  let place = saved?.position ?? 0;
  let minute = saved?.body.minute ?? minuteOf(Date.now());
  let day = saved?.body.day ?? dayOfMinute(minute);
  while (!signal.aborted) {
    const now = minuteOf(Date.now());
    const first = minute;
    const today = dayOfMinute(now);
    const isCounted = day < today && (await countDay(ports, work.workspaces, day));
    if (isCounted || day > today) day = today;
    // Where the clock was set back, minutes are repeated.
    minute = Math.min(minute, now);
    if (now - minute > MOST_MINUTES) {
      await evaluateFlipped(ports, work, undefined);
      minute = now;
    }
    // What was evaluated before the end of a minute may be written after it: each is looked at again with the next one.
    if (minute < now) minute -= 1;
    for (; minute < now && !signal.aborted; minute += 1) await evaluateFlipped(ports, work, minute);
    await evaluateFlipped(ports, work, minute);
    if (isCounted || minute !== first || place === 0) {
      place += 1;
      await work.write([{ id: CLOCK, partition: CLOCK, order: 0, position: place, body: { minute, day } }]);
    }
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** Returns the day (UTC) of a minute. */
function dayOfMinute(minute: number): string {
  return dayOf(new Date(minute * MINUTE_MS).toISOString());
}

/** Evaluates what has changed by itself up to now: in a minute, or ever. */
async function evaluateFlipped(
  { readModels }: QueryPorts,
  work: WorklistWork,
  minute: number | undefined,
): Promise<void> {
  const list = minute === undefined ? {} : { list: flipsList(minute) };
  for (const workspace of work.workspaces) {
    const query = { partition: worklistPartition(workspace), ...list, limit: AT_ONCE };
    for (let after = -1; ; ) {
      const rows = await readModels.page(worklistModel, { ...query, after });
      const now = Date.now();
      const flipped = rows.flatMap((row) => {
        const entry = entryOf(row);
        return entry?.flips_at !== undefined && entry.flips_at <= now
          ? [[entry.encounter_id, { order: row.order, trigger: BY_ITSELF }] as const]
          : [];
      });
      if (flipped.length > 0) await work.evaluate(workspace, new Map(flipped), 0);
      if (rows.length < AT_ONCE) break;
      after = rows.at(-1)?.order ?? after;
      await nextTurn();
    }
  }
}

const IDLE_MS = 50;

/**
 * Keeps the readiness worklist up to date with the log, until the signal; only one process does so at a time. Rejects
 * when a store cannot be reached, the log is another one, or the worklist is outdated; calling it again continues from where it was, or
 * rebuilds it. It is also rebuilt when other rules built it.
 */
export async function updateWorklist(ports: WorklistPorts, signal: AbortSignal): Promise<void> {
  const [begun] = await ports.readModels.load(begunModel, [BEGUN]);
  if (begun && begun.body.rules !== rulesDigest) await requestRebuild(ports.readModels, readinessModel);
  await loadCheckpoint(readinessModel, ports);
  const work = await WorklistWork.open(ports);
  // An interrupted write may have brought it further.
  const after = await ports.readModels.checkpoint(readinessModel);
  const fanOuts = await FanOuts.open(ports.readModels, work.workspaces);
  const end = new AbortController();
  const until = AbortSignal.any([signal, end.signal]);
  const options = { after, gather: ports.gather, signal: until };
  const tasks = [
    followRecords(ports, work, options, fanOuts),
    runFanOuts(ports, work, fanOuts, until),
    watchClock(ports, work, until),
    runWhileLogUnchanged(ports.eventLog, until),
    waitForRebuildRequest(ports.readModels, readinessModel, until),
  ];
  try {
    await Promise.all(tasks);
  } finally {
    end.abort();
    await Promise.allSettled(tasks);
  }
}

/** Goes through what is under way, a step of each in turn, until the signal. */
async function runFanOuts(
  ports: SameLogPorts,
  work: WorklistWork,
  fanOuts: FanOuts,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const row = fanOuts.first;
    if (row === undefined) {
      await sleep(IDLE_MS, undefined, { signal }).catch(() => undefined);
      continue;
    }
    if (row.body.lists.length === 0) {
      fanOuts.advance(row);
      await announceRules(ports, row.body);
      await work.write([doneRow(row)]);
      continue;
    }
    const next = await nextOf(ports.readModels, row.body, A_STEP);
    const after = afterStep(row, next, A_STEP);
    // A later change has taken its place, or it goes on to the next list.
    if (!fanOuts.advance(row, after) || next.length === 0) continue;
    const { workspace, trigger, isQuiet, isOneOfSeveral = false } = row.body;
    const encounters = new Map(
      next.map(({ id, order }) => [recordIdOf(id), { order, trigger, isOneOfSeveral }]),
    );
    await work.evaluate(workspace, encounters, row.order, { beside: [after], isQuiet });
  }
}
