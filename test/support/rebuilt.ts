import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projections } from '../../projections/index.ts';
import { modelName } from '../../projections/projection.ts';
import { ownTarget, project } from '../../src/modules/projections/projector.ts';
import { openReadModels } from '../../src/server/openStorage.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import type { ReadModels, Row } from '../../src/storage/readModels.ts';

import { readAll } from './events.ts';
import { eventually } from './eventually.ts';

const IDS_AT_ONCE = 500;
const STANDS_STILL_MS = 30_000;

/** All rows of a read model, by id, and how many it counts. */
export interface Rows {
  rows: Map<string, Row>;
  count: number;
}

/** All rows of every read model whose ids are streams of the log, once they hold all of it. */
export async function allRows(eventLog: EventLog, readModels: ReadModels): Promise<Record<string, Rows>> {
  const events = await readAll(eventLog);
  const head = await eventLog.head();
  const all: Record<string, Rows> = {};
  for (const projection of projections) {
    const model = modelName(projection);
    await reached(readModels, model, head);
    const types = projection.eventTypes && new Set(projection.eventTypes);
    const wanted = events.filter(({ type }) => types?.has(type) ?? true);
    const ids = new Set(wanted.map((event) => projection.rowId(event)));
    all[model] = {
      rows: await load(readModels, model, [...ids].sort()),
      count: await readModels.count(model),
    };
  }
  return all;
}

/** The same of read models that are made anew from the first event on, in another store. */
export async function rebuiltRows(eventLog: EventLog): Promise<Record<string, Rows>> {
  const folder = mkdtempSync(join(tmpdir(), 'chartledger-rebuilt-'));
  const readModels = await openReadModels(`sqlite:${join(folder, 'read-models.db')}`);
  const onParked = (_model: string, _event: unknown, error: unknown) => {
    throw error;
  };
  const { signal } = new AbortController();
  try {
    const ports = { eventLog, readModels, onParked };
    await project(projections.map(ownTarget), ports, signal, ({ caughtUp }) => caughtUp);
    return await allRows(eventLog, readModels);
  } finally {
    await readModels.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Waits for a read model for as long as it gets on. */
async function reached(readModels: ReadModels, model: string, head: number): Promise<void> {
  for (let at = await readModels.checkpoint(model); at < head; ) {
    at = await eventually(async () => {
      const checkpoint = await readModels.checkpoint(model);
      if (checkpoint <= at) throw new Error(`${model} stands still at ${checkpoint}, the log is at ${head}`);
      return checkpoint;
    }, STANDS_STILL_MS);
  }
}

async function load(readModels: ReadModels, model: string, ids: string[]): Promise<Map<string, Row>> {
  const rows = new Map<string, Row>();
  for (let from = 0; from < ids.length; from += IDS_AT_ONCE) {
    for (const row of await readModels.load(model, ids.slice(from, from + IDS_AT_ONCE)))
      rows.set(row.id, row);
  }
  return rows;
}
