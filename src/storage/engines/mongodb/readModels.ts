import { randomUUID } from 'node:crypto';
import type { Collection, Db } from 'mongodb';
import type { Position } from '../../../domain/events/event.ts';
import {
  type ChangesQuery,
  type HeadsQuery,
  type ModelName,
  type PageQuery,
  type ParkedEvent,
  type ReadModels,
  type Row,
  type RowBatch,
  type ScanQuery,
  type SearchQuery,
  setBack,
} from '../../readModels.ts';
import { insertNew, isNamespaceTaken, MongoConnection } from './connection.ts';
import {
  changedRows,
  countRows,
  indexLists,
  indexRows,
  indexTerms,
  loadRows,
  pageRows,
  rowsOf,
  type StoredRow,
  scanRows,
  searchRows,
  writeRows,
} from './rows.ts';

/** If lists have no more rows than this on average, a single query finds the heads of all. */
const SHORT_LIST = 2;
/** Otherwise this many lists are read concurrently. */
const LISTS_AT_ONCE = 16;

/** Returns the first rows on each of some lists of one partition, by ascending order. */
async function headRows(
  connection: MongoConnection,
  collection: string,
  { partition, lists, limit }: HeadsQuery,
): Promise<StoredRow[][]> {
  const most = SHORT_LIST * lists.length + limit;
  const found = await connection.call((db) =>
    rowsOf(db, collection)
      .find(
        { 'state.partition': partition, 'state.lists': { $exists: true, $in: lists } },
        { limit: most, batchSize: most + 1 },
      )
      .toArray(),
  );
  const heads: StoredRow[][] = [];
  if (found.length < most) {
    const byList = new Map(lists.map((list) => [list, [] as StoredRow[]]));
    for (const row of found.toSorted((a, b) => a.order - b.order)) {
      for (const list of row.state.lists ?? []) byList.get(list)?.push(row);
    }
    for (const rows of byList.values()) heads.push(rows.slice(0, limit));
    return heads;
  }
  for (let at = 0; at < lists.length; at += LISTS_AT_ONCE) {
    const reading = lists.slice(at, at + LISTS_AT_ONCE);
    heads.push(
      ...(await Promise.all(
        reading.map((list) => pageRows(connection, collection, { partition, list, limit })),
      )),
    );
  }
  return heads;
}

const STORE = 'read model store';
const MAX_PARKED = 1_000;
/** Counting reads the whole index of `_id`. */
const COUNT_MS = 60_000;

interface StoredParked {
  _id: Position;
  eventId: string;
  reason: string;
}

interface Checkpoint {
  _id: string;
  position: Position;
  /** Identifies the build of the read model: it changes with `drop` and `replace`. */
  build: string;
  /** Identity of the log from which it was begun. */
  log?: string;
}

/**
 * Read models in one MongoDB database: `rows.{model}` and `parked.{model}` for each read model, and `checkpoints` for all. Needs
 * neither transactions nor a replica set: a crash between the writes of one method leaves a checkpoint that is too low, never one
 * that is too high.
 */
export class MongoReadModels implements ReadModels {
  readonly #connection: MongoConnection;
  /** Read models whose collections are known to exist. */
  readonly #prepared = new Set<string>();
  /** Those of them whose lists, and whose terms, are known to have indexes. */
  readonly #listed = new Set<string>();
  readonly #searched = new Set<string>();
  /** The checkpoints last read or written by this instance. */
  readonly #seen = new Map<string, Checkpoint>();

  /** Does not connect: the first call does. Throws on a malformed URL. */
  constructor(url: string) {
    // Durable on a majority: a failover or crash must never undo anything below a checkpoint.
    this.#connection = new MongoConnection(url, {
      name: STORE,
      writeConcern: { w: 'majority', journal: true },
    });
  }

  async load<Body extends object>(model: ModelName<Body>, ids: string[]): Promise<Row<Body>[]> {
    return (await loadRows(this.#connection, rowsName(model), ids)).map(toRow<Body>);
  }

  async page<Body extends object>(model: ModelName<Body>, query: PageQuery): Promise<Row<Body>[]> {
    return (await pageRows(this.#connection, rowsName(model), query)).map(toRow<Body>);
  }

  async heads<Body extends object>(model: ModelName<Body>, query: HeadsQuery): Promise<Row<Body>[][]> {
    const found = await headRows(this.#connection, rowsName(model), query);
    return found.map((rows) => rows.map(toRow<Body>));
  }

  countPage(model: ModelName, query: Omit<PageQuery, 'after'>): Promise<number> {
    return countRows(this.#connection, rowsName(model), query);
  }

  async changes<Body extends object>(model: ModelName<Body>, query: ChangesQuery): Promise<Row<Body>[]> {
    return (await changedRows(this.#connection, rowsName(model), query)).map(toRow<Body>);
  }

  async search<Body extends object>(model: ModelName<Body>, query: SearchQuery): Promise<Row<Body>[]> {
    return (await searchRows(this.#connection, rowsName(model), query)).map(toRow<Body>);
  }

  async scan<Body extends object>(model: ModelName<Body>, query: ScanQuery): Promise<Row<Body>[]> {
    return (await scanRows(this.#connection, rowsName(model), query)).map(toRow<Body>);
  }

  async write(...batches: RowBatch[]): Promise<void> {
    const byModel = [...Map.groupBy(batches, ({ model }) => model).values()];
    const steps = Math.max(0, ...byModel.map((own) => own.length));
    for (let step = 0; step < steps; step += 1) {
      await this.#writeTogether(byModel.flatMap((own) => own[step] ?? []));
    }
  }

  async checkpoint(model: string): Promise<Position> {
    return (await this.#readCheckpoints([model])).get(model)?.position ?? 0;
  }

  async begin(model: string, log: string): Promise<void> {
    await this.drop(model);
    const begun = { _id: model, position: 0, build: randomUUID(), log };
    await this.#connection.call((db) => insertNew(checkpointsOf(db), begun));
  }

  async builtFrom(model: string): Promise<string | undefined> {
    return (await this.#connection.call((db) => checkpointsOf(db).findOne({ _id: model })))?.log;
  }

  async park(model: string, { position, eventId, reason }: ParkedEvent): Promise<void> {
    await this.#prepare(model);
    await this.#connection.call((db) => insertNew(parkedOf(db, model), { _id: position, eventId, reason }));
  }

  async parked(model: string): Promise<ParkedEvent[]> {
    const found = await this.#connection.call((db) =>
      parkedOf(db, model)
        .find({}, { sort: { _id: 1 }, limit: MAX_PARKED, batchSize: MAX_PARKED + 1 })
        .toArray(),
    );
    return found.map(({ _id: position, eventId, reason }) => ({ position, eventId, reason }));
  }

  count(model: string): Promise<number> {
    return this.#connection.call((db) => rowsOf(db, rowsName(model)).countDocuments({}), COUNT_MS);
  }

  async replace(model: string, byModel: string): Promise<void> {
    const by = (await this.#readCheckpoints([byModel])).get(byModel);
    if (by === undefined) return;
    const place = ({ _id, ...checkpoint }: Checkpoint) =>
      this.#connection.call((db) =>
        checkpointsOf(db).replaceOne({ _id: model }, checkpoint, { upsert: true }),
      );
    // Until everything is in place, nothing counts as projected, and no writer's checkpoint is accepted.
    await place({ ...by, position: 0, build: randomUUID() });
    await this.#rename(rowsName(byModel), rowsName(model));
    await this.#rename(parkedName(byModel), parkedName(model));
    await place(by);
    await this.#connection.call((db) => checkpointsOf(db).deleteOne({ _id: byModel }));
    const seen = this.#seen.get(model);
    for (const one of [model, byModel]) this.#forget(one);
    // Whoever wrote the earlier rows with this object has to learn of it.
    if (seen) this.#seen.set(model, seen);
  }

  async drop(model: string): Promise<void> {
    await this.#connection.call((db) => checkpointsOf(db).deleteOne({ _id: model }));
    for (const name of [rowsName(model), parkedName(model)]) {
      await this.#connection.call(async (db) => {
        if (await isThere(db, name)) await db.dropCollection(name);
      });
    }
    this.#forget(model);
  }

  /** The server manages its own files. */
  async purge(): Promise<void> {}

  close(): Promise<void> {
    return this.#connection.close();
  }

  /** Writes a batch each of some read models: their checkpoints are read, and written, together. */
  async #writeTogether(batches: readonly RowBatch[]): Promise<void> {
    await Promise.all(
      batches.map(async ({ model, rows }) => {
        await this.#prepare(model);
        if (rows.some(({ lists }) => lists)) await this.#prepareIndex(model, this.#listed, indexLists);
        if (rows.some(({ search }) => search)) await this.#prepareIndex(model, this.#searched, indexTerms);
      }),
    );
    const stored = await this.#unreplaced(batches.map(({ model }) => model));
    await Promise.all(
      batches.map(({ model, rows }) => writeRows(this.#connection, rowsName(model), rows.map(toStored))),
    );
    await this.#advance(batches, stored);
  }

  async #prepare(model: string): Promise<void> {
    if (this.#prepared.has(model)) return;
    await this.#create(rowsName(model));
    await indexRows(this.#connection, rowsName(model));
    await this.#create(parkedName(model));
    this.#prepared.add(model);
  }

  async #prepareIndex(model: string, known: Set<string>, index: typeof indexLists): Promise<void> {
    if (known.has(model)) return;
    await index(this.#connection, rowsName(model));
    known.add(model);
  }

  async #create(name: string): Promise<void> {
    await this.#connection.call(async (db) => {
      try {
        await db.createCollection(name);
      } catch (error) {
        // Another instance may create it at the same moment, which not every server reports.
        if (!isNamespaceTaken(error) && !(await isThere(db, name))) throw error;
      }
    });
  }

  async #readCheckpoints(models: string[]): Promise<Map<string, Checkpoint>> {
    const found = await this.#connection.call((db) =>
      checkpointsOf(db)
        .find({ _id: { $in: models } }, { batchSize: models.length + 1 })
        .toArray(),
    );
    for (const model of models) this.#seen.delete(model);
    for (const checkpoint of found) this.#seen.set(checkpoint._id, checkpoint);
    return new Map(found.map((checkpoint) => [checkpoint._id, checkpoint]));
  }

  /**
   * Returns the checkpoints from which to continue; rejects when a read model was reset. Rows folded on top of a replaced model
   * must not be written: they may lack events that the new one does not hold yet.
   */
  async #unreplaced(models: string[]): Promise<Map<string, Checkpoint>> {
    const seen = new Map(models.map((model) => [model, this.#seen.get(model)]));
    const stored = await this.#readCheckpoints(models);
    const isReset = (model: string) => {
      const [before, now] = [seen.get(model), stored.get(model)];
      return before && (now?.build !== before.build || now.position < before.position);
    };
    if (models.some(isReset)) this.#failReset(models);
    return stored;
  }

  async #advance(batches: readonly RowBatch[], stored: ReadonlyMap<string, Checkpoint>): Promise<void> {
    const begun: Checkpoint[] = [];
    const raised: { from: Checkpoint; to: Checkpoint }[] = [];
    for (const { model, checkpoint: position } of batches) {
      const from = stored.get(model);
      if (from === undefined) begun.push({ _id: model, position, build: randomUUID() });
      else if (position > from.position) raised.push({ from, to: { ...from, position } });
    }
    const isBegun = await Promise.all(
      begun.map((checkpoint) => this.#connection.call((db) => insertNew(checkpointsOf(db), checkpoint))),
    );
    const updates = raised.map(({ from: { _id, build, position }, to }) => ({
      updateOne: {
        filter: { _id, build, position: { $gte: position } },
        update: { $max: { position: to.position } },
      },
    }));
    const matched =
      updates.length === 0
        ? 0
        : await this.#connection.call(async (db) => {
            const { matchedCount } = await checkpointsOf(db).bulkWrite(updates, { ordered: false });
            return matchedCount;
          });
    if (!isBegun.every(Boolean) || matched < updates.length)
      this.#failReset(batches.map(({ model }) => model));
    for (const next of [...begun, ...raised.map(({ to }) => to)]) {
      if ((this.#seen.get(next._id)?.position ?? 0) <= next.position) this.#seen.set(next._id, next);
    }
  }

  /** The writer then rereads the checkpoints of all of them. */
  #failReset(models: string[]): never {
    for (const model of models) this.#forget(model);
    throw setBack();
  }

  #forget(model: string): void {
    this.#seen.delete(model);
    this.#prepared.delete(model);
    this.#listed.delete(model);
    this.#searched.delete(model);
  }

  /** A missing collection was already renamed. */
  async #rename(from: string, to: string): Promise<void> {
    if (!(await this.#connection.call((db) => isThere(db, from)))) return;
    await this.#connection.call((db) => db.renameCollection(from, to, { dropTarget: true }));
  }
}

/** Returns the name of a read model's rows collection. */
function rowsName(model: string): string {
  return `rows.${model}`;
}

function toStored({ id: _id, order, position, partition, body, lists, search }: Row): StoredRow {
  const state = { position, partition, body: JSON.stringify(body), ...(lists && { lists }) };
  return { _id, order, state: search === undefined ? state : { ...state, search } };
}

function toRow<Body extends object>({
  _id: id,
  order,
  state: { position, partition, body, lists, search },
}: StoredRow): Row<Body> {
  const row = { id, partition, order, position, body: JSON.parse(body) };
  return { ...row, ...(lists && { lists }), ...(search && { search }) };
}

function parkedName(model: string): string {
  return `parked.${model}`;
}

function parkedOf(db: Db, model: string): Collection<StoredParked> {
  return db.collection(parkedName(model));
}

function checkpointsOf(db: Db): Collection<Checkpoint> {
  return db.collection('checkpoints');
}

async function isThere(db: Db, name: string): Promise<boolean> {
  const found = await db.listCollections({ name }, { nameOnly: true }).toArray();
  return found.some((collection) => collection.name === name);
}
