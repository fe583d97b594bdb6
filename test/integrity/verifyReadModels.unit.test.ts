import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { records, recordsModel } from '../../projections/records.ts';
import { type VerifiedModel, verifyReadModels } from '../../src/modules/integrity/verifyReadModels.ts';
import { ownTarget, project } from '../../src/modules/projections/projector.ts';
import { openEventLog, openReadModels } from '../../src/server/openStorage.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import type { ReadModels, Row } from '../../src/storage/readModels.ts';

import { TestWorkspace } from '../support/samples.ts';

let folder: string;
let eventLog: EventLog;
let readModels: ReadModels;
let folded: ReadModels;
const workspace = new TestWorkspace();
const { signal } = new AbortController();

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'chartledger-verify-'));
  eventLog = await openEventLog(`sqlite:${join(folder, 'events.db')}`);
  readModels = await openReadModels(`sqlite:${join(folder, 'read-models.db')}`);
  folded = await openReadModels(`sqlite:${join(folder, 'folded.db')}`);
  await readModels.begin(recordsModel, await eventLog.identity());
  for (const id of ['a', 'b', 'c']) await append(id);
  await projectAll();
});
afterEach(async () => {
  await Promise.all([eventLog.close(), readModels.close(), folded.close()]);
  rmSync(folder, { recursive: true, force: true });
});

const streamOf = (id: string) => workspace.stream(`payer-${id}`);
const append = (id: string) =>
  eventLog.append(streamOf(id), workspace.event({ id, name: 'Aetna' }, 'PayerUpserted'), 'any');
const projectAll = () => {
  const onParked = (_model: string, _event: unknown, error: unknown) => {
    throw error;
  };
  const ports = { eventLog, readModels, onParked };
  return project([ownTarget(records)], ports, signal, ({ caughtUp }) => caughtUp);
};

/** Verifies the read model of records; `onLoad` runs before the stored rows are read for the first time. */
async function verify(onLoad: () => Promise<unknown> = async () => undefined): Promise<VerifiedModel> {
  let isLoaded = false;
  const load: ReadModels['load'] = async (model, ids) => {
    if (model === recordsModel && !isLoaded) {
      isLoaded = true;
      await onLoad();
    }
    return readModels.load(model, ids);
  };
  const stored = new Proxy(readModels, {
    get: (target, name) => (name === 'load' ? load : Reflect.get(target, name).bind(target)),
  });
  const verified = await verifyReadModels({ eventLog, readModels: stored, folded }, { signal });
  expect(await folded.count(recordsModel)).toBe(0);
  return verified.find(({ model }) => model === recordsModel) as VerifiedModel;
}

const holds = { projection: 'records', model: recordsModel, unwritten: 0 };

test('rows that change while they are compared are compared as they are then', async () => {
  const verified = await verify(async () => {
    for (const id of ['b', 'a', 'b', 'd']) await append(id);
    await projectAll();
  });
  expect(verified).toEqual({ ...holds, rows: 4 });
});

test('a row that changes while it is compared, and is another one than the log yields, is named', async () => {
  const verified = await verify(async () => {
    await append('b');
    const [row] = await readModels.load(recordsModel, [streamOf('b')]);
    await projectAll();
    const [after] = await readModels.load(recordsModel, [streamOf('b')]);
    const position = (after?.position ?? 0) + 1;
    await append('c');
    if (row) await readModels.write({ model: recordsModel, rows: [{ ...row, position }], checkpoint: 0 });
  });
  expect(verified.difference).toMatchObject({ what: 'changed', partition: `${workspace.id}.payer` });
});

test('a batch that its writer has not finished writing is no difference', async () => {
  const many = Array.from({ length: 200 }, (_, at) => `b${at}`);
  for (const id of many) await append(id);
  await projectAll();
  await append('c');
  const { position } = await append('a');
  const [row] = (await readModels.load(recordsModel, [streamOf('a')])) as [Row];
  const body = { ...row.body, version: 2, updatedAt: await eventLog.lastRecordedAt() };
  await readModels.write({ model: recordsModel, rows: [{ ...row, position, body }], checkpoint: 0 });
  expect(await verify()).toEqual({ ...holds, rows: 202, unwritten: 1 });
  await projectAll();
  expect(await verify()).toEqual({ ...holds, rows: 203 });
});

test('a row of a position that the log has not reached is named', async () => {
  const [row] = await readModels.load(recordsModel, [streamOf('a')]);
  if (row)
    await readModels.write({ model: recordsModel, rows: [{ ...row, position: 1_000 }], checkpoint: 0 });
  expect((await verify()).difference).toMatchObject({ what: 'changed', position: 1_000 });
});

test('a read model of another log, and an event that cannot be read any more, are named in place of rows', async () => {
  const db = new DatabaseSync(join(folder, 'events.db'));
  const { position } = await append('a');
  await projectAll();
  db.prepare('UPDATE events SET data = ? WHERE position = ?').run('no JSON', position);
  db.close();
  expect(await verify()).toEqual({ ...holds, rows: 0, unreadable: position });
  await readModels.begin(recordsModel, 'another log');
  expect(await verify()).toEqual({ ...holds, rows: 0, mismatch: 'another_log' });
});

test('it ends at the signal, and leaves nothing of what it folded', async () => {
  const interruption = new AbortController();
  const onProgress = () => interruption.abort(new Error('interrupted'));
  const ports = { eventLog, readModels, folded };
  await expect(verifyReadModels(ports, { onProgress, signal: interruption.signal })).rejects.toThrow(
    'interrupted',
  );
  expect(await folded.count(recordsModel)).toBe(0);
});
