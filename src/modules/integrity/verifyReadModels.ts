import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { projections } from '../../../projections/index.ts';
import { modelName, type Projection, readinessModel } from '../../../projections/projection.ts';
import { recordsModel } from '../../../projections/records.ts';
import { timeline } from '../../../projections/timeline.ts';
import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { erasureStep } from '../../domain/events/payloads.ts';
import { kindPartition, recordIdOf, recordStream, sharedStreams } from '../../domain/events/streams.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { asUnreadable, UnreadableError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { ModelName, ReadModels, Row } from '../../storage/readModels.ts';
import { type LogMismatch, logMismatch } from '../projections/checkpoints.ts';
import { foldBatch, ownPart, Tombstones } from '../projections/projector.ts';
import { anyOf, type Evaluation, evaluate } from '../readiness/evaluate.ts';
import { readRuleSettings } from '../readiness/rules/rule.ts';
import { fanOutsModel, fanOutsPartition } from '../readiness/worklistFanOut.ts';
import {
  entryOf,
  listsOf,
  worklistEntry,
  worklistModel,
  worklistPartition,
} from '../readiness/worklistModel.ts';
import { worklistEventTypes } from '../readiness/worklistUpdater.ts';
import { type RangeBatch, readLog, type VerifyPorts } from './verify.ts';

const ROWS_AT_ONCE = 200;
const UNWRITTEN_MS = 2_000;
const POLL_MS = 50;

/** The rows of the timeline depend on when events were erased; none of them says anything about a record. */
const compared = projections.filter(({ name }) => name !== timeline.name);

/** The first row of a read model that is not what the log yields. */
export interface RowDifference {
  /** `outdated`: it lacks the event at `position`, which the read model's checkpoint covers. */
  what: 'changed' | 'outdated' | 'missing' | 'added';
  partition: string;
  /** Of the last event folded into the row; of a changed or added one, what the row says. */
  position: Position;
}

/** A row compared; `unwritten`: its writer has not written what the log yields yet. */
type Compared = 'same' | 'unwritten' | RowDifference;

/** How long the comparisons of a read model wait, in all, for rows that its writer has begun to write. */
class WaitBudget {
  #leftMs = UNWRITTEN_MS;

  /** Waits before the next look; returns false, without a wait, once the budget is spent. */
  async spend(): Promise<boolean> {
    if (this.#leftMs <= 0) return false;
    this.#leftMs -= POLL_MS;
    await sleep(POLL_MS);
    return true;
  }
}

/** A read model compared with the log. */
export interface VerifiedModel {
  projection: string;
  model: string;
  /** Rows that are what the log yields. */
  rows: number;
  /** Rows that the read model's writer had not written yet; it does so when it runs again. */
  unwritten: number;
  difference?: RowDifference;
  /** Why it was not compared: it belongs to another log, or an event that it has folded cannot be read. */
  mismatch?: LogMismatch;
  unreadable?: Position;
}

interface VerifyReadModelsPorts {
  eventLog: EventLog;
  /** The stored ones. */
  readModels: ReadModels;
  /** Empty ones for what the log yields; a read model is dropped from them once it has been compared. */
  folded: ReadModels;
}

interface VerifyReadModelsOptions {
  /** The only workspace whose rows are compared; default: all. */
  workspace?: string | undefined;
  /** Called with the position in the log, where it will end, both over all read models, and the number of events folded. */
  onProgress?: ((position: Position, until: Position, events: number) => void) | undefined;
  /** Ends the comparison; it then rejects with the signal's reason. */
  signal: AbortSignal;
}

/**
 * Folds the log up to the checkpoint of each read model, and compares each stored row with the folded one, at equal positions:
 * where the stored row has since changed, more of the log is folded. Up to the first difference in each read model. Indexes, lists and
 * terms are compared as far as the rows name them. Rejects with `unavailable`.
 */
export async function verifyReadModels(
  ports: VerifyReadModelsPorts,
  { workspace, onProgress, signal }: VerifyReadModelsOptions,
): Promise<VerifiedModel[]> {
  const found: VerifiedModel[] = [];
  let events = 0;
  for (const [index, projection] of compared.entries()) {
    const model = modelName(projection);
    const until = await ports.readModels.checkpoint(model);
    const fold = new Fold(ports, projection, workspace, signal);
    const onFolded = () => {
      onProgress?.(index * until + fold.position, compared.length * until, events + fold.events);
    };
    try {
      found.push(await compare(ports, fold, { workspace, until, onFolded, signal }));
    } finally {
      await fold.close();
      await ports.folded.drop(model);
    }
    events += fold.events;
  }
  return found;
}

interface CompareOptions extends Pick<VerifyReadModelsOptions, 'workspace' | 'signal'> {
  /** Of the stored read model. */
  until: Position;
  onFolded(): void;
}

async function compare(
  ports: VerifyReadModelsPorts,
  fold: Fold,
  { workspace, until, onFolded, signal }: CompareOptions,
): Promise<VerifiedModel> {
  const { readModels, folded } = ports;
  const { model, projection } = fold;
  const result: VerifiedModel = { projection: projection.name, model, rows: 0, unwritten: 0 };
  const mismatch = await logMismatch(ports, model);
  if (mismatch) return { ...result, mismatch };
  await fold.to(until, onFolded);
  const unreadable = await fold.newlyUnreadable(readModels);
  if (unreadable !== undefined) return { ...result, unreadable };

  const comparison = new Comparison(ports, fold);
  for await (const rows of pagesOf(folded, model)) {
    signal.throwIfAborted();
    const stored = await readModels.load(
      model,
      rows.map(({ id }) => id),
    );
    const byId = new Map(stored.map((row) => [row.id, row]));
    for (const row of rows) {
      const found = isSame(byId.get(row.id), row) ? 'same' : await comparison.compare(row.id);
      if (found === 'same') result.rows += 1;
      else if (found === 'unwritten') result.unwritten += 1;
      else return { ...result, difference: found };
    }
  }
  for await (const rows of pagesOf(readModels, model, workspace)) {
    signal.throwIfAborted();
    const own = rows.filter(({ id }) => workspace === undefined || isOf(workspace, id));
    const known = new Set(
      (
        await folded.load(
          model,
          own.map(({ id }) => id),
        )
      ).map(({ id }) => id),
    );
    for (const { id } of own.filter((row) => !known.has(row.id))) {
      const found = await comparison.compare(id);
      if (found === 'same') result.rows += 1;
      else if (found !== 'unwritten') return { ...result, difference: found };
    }
    if (own.length < rows.length) break;
  }
  return result;
}

/** Compares single rows, which may change during the comparison. */
class Comparison {
  readonly #ports: VerifyReadModelsPorts;
  readonly #fold: Fold;
  readonly #budget = new WaitBudget();

  constructor(ports: VerifyReadModelsPorts, fold: Fold) {
    this.#ports = ports;
    this.#fold = fold;
  }

  async compare(id: string): Promise<Compared> {
    const { eventLog, readModels, folded } = this.#ports;
    const { model } = this.#fold;
    for (;;) {
      // In this order: whatever the checkpoint covers is in the row.
      const checkpoint = await readModels.checkpoint(model);
      const [stored] = await readModels.load(model, [id]);
      if (stored) {
        const { partition, position } = stored;
        if (position > this.#fold.position && position > (await eventLog.head()))
          return { what: 'changed', partition, position };
        await this.#fold.to(position);
      }
      const [row] = await folded.load(model, [id]);
      if (row === undefined) {
        return stored ? { what: 'added', ...placeOf(stored) } : 'same';
      }
      if (stored && stored.position >= row.position) {
        const isExpected = isSame(stored, row) || (await this.#isSameAfterErasure(stored, row));
        return isExpected ? 'same' : { what: 'changed', ...placeOf(stored) };
      }
      if (checkpoint >= row.position) return { what: stored ? 'outdated' : 'missing', ...placeOf(row) };
      if (!(await this.#budget.spend())) return 'unwritten';
    }
  }

  /**
   * Where the beginning of a stream was erased, its rows keep their place in the order, and times that never decrease: both depend on
   * what was there before.
   */
  async #isSameAfterErasure(stored: Row, row: Row): Promise<boolean> {
    if (!isSame({ ...timeless(stored), order: row.order }, timeless(row))) return false;
    const stream = row.id.slice(row.id.lastIndexOf(' ') + 1);
    const read = await this.#ports.eventLog.readStream(stream, { limit: 1 }).catch(asUnreadable);
    if (read instanceof UnreadableError) return false;
    const [first] = read;
    return first !== undefined && erasureStep(first) !== undefined;
  }
}

/** Folds the log into a read model, as far as is asked. */
class Fold {
  readonly projection: Projection;
  readonly model: string;
  position: Position = 0;
  events = 0;
  readonly #ports: VerifyReadModelsPorts;
  readonly #workspace: string | undefined;
  readonly #signal: AbortSignal;
  readonly #wanted: Set<string> | undefined;
  readonly #tombstones: Tombstones;
  readonly #batches: AsyncGenerator<RangeBatch, undefined>;
  /** The last one, of which the part after `position` is not folded yet. */
  #batch: RangeBatch | undefined;

  constructor(
    ports: VerifyReadModelsPorts,
    projection: Projection,
    workspace: string | undefined,
    signal: AbortSignal,
  ) {
    this.projection = projection;
    this.model = modelName(projection);
    this.#ports = ports;
    this.#workspace = workspace;
    this.#signal = signal;
    this.#wanted = projection.eventTypes && new Set(projection.eventTypes);
    this.#tombstones = new Tombstones(ports.eventLog);
    const filter =
      workspace === undefined ? undefined : { streamPrefixes: [`${workspace}.`, ...sharedStreams] };
    this.#batches = readLog(ports.eventLog, { after: 0, until: Number.MAX_SAFE_INTEGER }, filter);
  }

  /** Folds the log up to a position that it has reached; nothing if it is folded that far. */
  async to(position: Position, onFolded?: () => void): Promise<void> {
    while (this.position < position) {
      this.#signal.throwIfAborted();
      if (this.#batch === undefined || this.#batch.position <= this.position)
        this.#batch = (await this.#batches.next()).value as RangeBatch;
      const until = Math.min(this.#batch.position, position);
      await this.#fold(this.#batch, until);
      this.position = until;
      onFolded?.();
    }
  }

  /** The first event that could not be folded here, though the writer of the read model could. */
  async newlyUnreadable(readModels: ReadModels): Promise<Position | undefined> {
    const before = new Set((await readModels.parked(this.model)).map(({ position }) => position));
    const parked = await this.#ports.folded.parked(this.model);
    return parked.find(({ position }) => !before.has(position))?.position;
  }

  async close(): Promise<void> {
    await this.#batches.return(undefined);
  }

  async #fold(batch: RangeBatch, until: Position): Promise<void> {
    const { model, projection } = this;
    const { folded: readModels } = this.#ports;
    const isIn = (event: Pick<RecordedEvent, 'stream' | 'position'>) =>
      event.position > this.position && event.position <= until && this.#isOwn(event);
    const part = ownPart(batch, this.#wanted, isIn);
    const listed = await this.#tombstones.listed(part.erased);
    const ports = { readModels, onParked: () => undefined };
    const written = await foldBatch({ projection, model }, ports, { ...part, listed, position: until });
    await readModels.write(...written);
    this.events += part.events.length;
  }

  #isOwn(event: Pick<RecordedEvent, 'stream'> & Partial<Pick<RecordedEvent, 'metadata'>>): boolean {
    if (this.#workspace === undefined) return true;
    return event.metadata
      ? event.metadata.workspace === this.#workspace
      : event.stream.startsWith(`${this.#workspace}.`);
  }
}

async function* pagesOf(readModels: ReadModels, model: string, from?: string): AsyncGenerator<Row[]> {
  for (let after = from; ; ) {
    const rows = await readModels.scan(model, { after, limit: ROWS_AT_ONCE });
    if (rows.length > 0) yield rows;
    if (rows.length < ROWS_AT_ONCE) return;
    after = rows.at(-1)?.id;
  }
}

/** Whether a row is of a workspace: its id is the workspace's, or begins with it and a character that sorts before those of workspaces. */
function isOf(workspace: string, id: string): boolean {
  return id.startsWith(workspace) && /^(?:$|[ ./])/.test(id.slice(workspace.length));
}

function isSame(stored: Row | undefined, row: Row): boolean {
  if (stored === undefined) return false;
  return isDeepStrictEqual(comparable(stored), comparable(row));
}

function comparable({ partition, order, position, body, lists, search }: Row): unknown[] {
  return [partition, order, position, body, lists, search && [search.terms, search.since]];
}

function timeless(row: Row): Row {
  return { ...row, body: { ...row.body, createdAt: undefined, updatedAt: undefined } };
}

function placeOf({ partition, position }: Row): Pick<RowDifference, 'partition' | 'position'> {
  return { partition, position };
}

const ENCOUNTERS_AT_ONCE = 200;

type WorklistRow = Parameters<typeof entryOf>[0];

/**
 * Reevaluates all encounters of some workspaces from the stored records and the log, and compares the stored worklist with the
 * result, up to the first difference. The records themselves are compared by `verifyReadModels`. Rejects with `unavailable`, with
 * `unreadable`, and at the signal.
 */
export async function verifyWorklist(
  ports: VerifyPorts,
  workspaces: readonly string[],
  signal: AbortSignal,
): Promise<VerifiedModel> {
  const result: VerifiedModel = { projection: 'readiness', model: readinessModel, rows: 0, unwritten: 0 };
  const mismatch = await logMismatch(ports, readinessModel);
  if (mismatch) return { ...result, mismatch };
  const budget = new WaitBudget();
  for (const workspace of workspaces) {
    for await (const found of new Worklist(ports, workspace, budget).compared()) {
      signal.throwIfAborted();
      if (found === 'same') result.rows += 1;
      else if (found === 'unwritten') result.unwritten += 1;
      else return { ...result, difference: found };
    }
  }
  return result;
}

/** The worklist of a workspace. */
class Worklist {
  readonly #ports: VerifyPorts;
  readonly #workspace: string;
  readonly #budget: WaitBudget;

  constructor(ports: VerifyPorts, workspace: string, budget: WaitBudget) {
    this.#ports = ports;
    this.#workspace = workspace;
    this.#budget = budget;
  }

  /** Yields the result for each encounter, and for each row that stands for none. */
  async *compared(): AsyncGenerator<Compared> {
    const { readModels } = this.#ports;
    const partition = kindPartition(this.#workspace, encounter.kind);
    for await (const streams of streamsOf(readModels, recordsModel, partition)) {
      const rows = await this.#rows(streams);
      const evaluated = await this.#evaluate(streams);
      for (const stream of streams) {
        const isExpected = this.#isExpected(rows.get(stream), evaluated.get(stream));
        yield isExpected ? 'same' : await this.#compareEvaluated(stream);
      }
    }
    for await (const streams of streamsOf(readModels, worklistModel, worklistPartition(this.#workspace))) {
      const known = new Set((await readModels.load(recordsModel, streams)).map(({ id }) => id));
      for (const stream of streams) if (!known.has(stream)) yield this.#compareEvaluated(stream);
    }
  }

  /** Compares one row, which may change during the comparison, as may its encounter. */
  async #compareEvaluated(stream: string): Promise<Compared> {
    for (;;) {
      const before = (await this.#evaluate([stream])).get(stream);
      const isDone = await this.#isDone(await this.#ports.eventLog.head());
      const row = (await this.#rows([stream])).get(stream);
      const evaluation = (await this.#evaluate([stream])).get(stream);
      if (this.#isExpected(row, evaluation)) return 'same';
      // Where it was the same before and after, the row was not evaluated from anything else.
      if (isDone && isDeepStrictEqual(before, evaluation)) {
        const place = { partition: row?.partition ?? worklistPartition(this.#workspace) };
        const what = row === undefined ? 'missing' : evaluation === undefined ? 'added' : 'changed';
        return { what, ...place, position: row?.position ?? evaluation?.position ?? 0 };
      }
      if (!(await this.#budget.spend())) return 'unwritten';
    }
  }

  /** Whether everything up to a position in the log is evaluated. */
  async #isDone(position: Position): Promise<boolean> {
    const { eventLog, readModels } = this.#ports;
    const after = await readModels.checkpoint(readinessModel);
    if (after < position) {
      const { signal } = new AbortController();
      const filter = { eventTypes: worklistEventTypes };
      for await (const batch of eventLog.follow({ after, filter, signal })) {
        if (batch.events.some((event) => event.position <= position)) return false;
        if (batch.position >= position) break;
      }
    }
    const query = { partition: fanOutsPartition(this.#workspace), limit: 1 };
    return (await readModels.page(fanOutsModel, query)).length === 0;
  }

  /** A finding that has begun or ended with time since the row was written is evaluated soon. */
  #isExpected(row: WorklistRow, evaluation: Evaluation | undefined): boolean {
    const stored = entryOf(row);
    if (stored === undefined || row === undefined || evaluation === undefined)
      return stored === undefined && evaluation === undefined;
    const entry = worklistEntry(evaluation, Math.min(Date.now(), (stored.flips_at ?? Infinity) - 1));
    return isDeepStrictEqual(
      [row.partition, stored, row.lists],
      [worklistPartition(this.#workspace), JSON.parse(JSON.stringify(entry)), listsOf(entry)],
    );
  }

  async #rows(streams: string[]): Promise<Map<string, NonNullable<WorklistRow>>> {
    const rows = await this.#ports.readModels.load(worklistModel, streams);
    return new Map(rows.map((row) => [row.id, row]));
  }

  async #evaluate(streams: readonly string[]): Promise<Map<string, Evaluation>> {
    const settings = await readRuleSettings(this.#ports.eventLog, this.#workspace);
    const ids = streams.map(recordIdOf);
    const evaluated = await evaluate(this.#ports, this.#workspace, ids, settings, anyOf);
    const streamOf = (id: string) => recordStream(this.#workspace, encounter.kind, id);
    return new Map([...evaluated].map(([id, evaluation]) => [streamOf(id), evaluation]));
  }
}

async function* streamsOf<Body extends object>(
  readModels: ReadModels,
  model: ModelName<Body>,
  partition: string,
): AsyncGenerator<string[]> {
  for (let after: Row['order'] | undefined; ; ) {
    const query = { partition, limit: ENCOUNTERS_AT_ONCE, ...(after !== undefined && { after }) };
    const rows = await readModels.page(model, query);
    if (rows.length > 0) yield rows.map(({ id }) => id);
    if (rows.length < ENCOUNTERS_AT_ONCE) return;
    after = rows.at(-1)?.order;
  }
}
