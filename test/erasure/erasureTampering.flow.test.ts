import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { treeModel } from '../../projections/tree.ts';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { type Difference, verifyWorkspace } from '../../src/modules/integrity/verify.ts';
import { openReadModels } from '../../src/server/openStorage.ts';
import type { ReadModels } from '../../src/storage/readModels.ts';

import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { samples } from '../support/samples.ts';
import { readAll, startTestService, type TestService } from '../support/service.ts';

const LONG_MS = 60_000;

let service: TestService;
/** Those that followed, and some that hold nothing, as where whoever changed the log took them away. */
let followed: ReadModels;
let empty: ReadModels;
let db: DatabaseSync;
let tombstone: RecordedEvent;
/** The events that were erased, as they were. */
let erased: RecordedEvent[];
let kept: RecordedEvent;

const clinic = () => service.workspaceId('clinic');

beforeAll(async () => {
  service = await startTestService();
  followed = await openReadModels(service.config.readModelUrl);
  empty = await openReadModels(`sqlite:${join(temporaryFolder(), 'empty.db')}`);
  db = new DatabaseSync(service.config.eventLogUrl.slice('sqlite:'.length), { timeout: 5_000 });
  const [payer, other] = [samples.payer(), samples.payer()];
  for (const body of [payer, other, payer]) await service.post('/integration/payers', body);
  const before = await readAll(service.eventLog);
  erased = before.filter(({ data }) => data.id === payer.id);
  kept = before.find(({ data }) => data.id === other.id) as RecordedEvent;
  const args = ['records', 'erase', 'payer', payer.id, '--workspace', clinic(), '--reason', 'test'];
  expect((await runCli(args, { env: storesOf(service.config) })).code).toBe(0);
  tombstone = (await readAll(service.eventLog)).find(({ type }) => type === 'RecordErased') as RecordedEvent;
  await service.post('/integration/payers', samples.payer());
  const head = await service.eventLog.head();
  await eventually(
    async () => expect(await followed.checkpoint(treeModel)).toBeGreaterThanOrEqual(head),
    LONG_MS,
  );
}, LONG_MS);
afterAll(async () => {
  db.close();
  await Promise.all([followed.close(), empty.close()]);
  await service.stop();
});

type Columns = Record<string, string | number | null>;

/** What verify names while columns of a stored event are others. */
async function differenceWith(
  readModels: ReadModels,
  { position }: Pick<RecordedEvent, 'position'>,
  columns: Columns,
): Promise<Difference | undefined> {
  const names = Object.keys(columns);
  const row = db.prepare(`SELECT ${names.join()} FROM events WHERE position = ?`).get(position) as Columns;
  const set = db.prepare(`UPDATE events SET ${names.map((name) => `${name} = ?`).join()} WHERE position = ?`);
  set.run(...Object.values(columns), position);
  try {
    return (await verifyWorkspace({ eventLog: service.eventLog, readModels }, clinic(), {})).difference;
  } finally {
    set.run(...Object.values(row), position);
  }
}

const first = () => erased[0] as RecordedEvent;

test('what was erased by the service is no difference', async () => {
  for (const readModels of [followed, empty]) {
    const found = await verifyWorkspace({ eventLog: service.eventLog, readModels }, clinic(), {});
    expect(found).toMatchObject({
      erased: { count: 2, reported: [{ stream: tombstone.stream, versions: 2, reason: 'test' }] },
    });
    expect(found.difference).toBeUndefined();
  }
});

test('an altered leaf of an erased event is named', async () => {
  const leaf = 'f'.repeat(64);
  expect(await differenceWith(followed, first(), { leaf })).toMatchObject({
    what: 'changed',
    position: first().position,
  });
  expect(await differenceWith(empty, first(), { leaf })).toMatchObject({
    what: 'missing',
    position: first().position,
  });
});

test('an altered tombstone is named, and what it stood for is missing', async () => {
  const text = JSON.stringify(tombstone.data);
  const data = text.replace(/"leaf":"./, '"leaf":"_');
  expect(data).not.toBe(text);
  expect(await differenceWith(followed, tombstone, { data })).toMatchObject({
    what: 'changed',
    position: tombstone.position,
  });
  expect(await differenceWith(empty, tombstone, { data })).toMatchObject({
    what: 'missing',
    position: first().position,
  });
});

test('a tombstone that was turned into something else leaves what it stood for missing', async () => {
  const columns = { type: 'PayerUpserted', data: '{"id":"forged","name":"Forged"}' };
  expect(await differenceWith(followed, tombstone, columns)).toMatchObject({
    what: 'changed',
    position: tombstone.position,
  });
  expect(await differenceWith(empty, tombstone, columns)).toMatchObject({
    what: 'missing',
    position: first().position,
  });
});

test('an event that was emptied without a tombstone is missing, whoever took the read models away', async () => {
  const { leaf } = db.prepare('SELECT leaf FROM events WHERE position = ?').get(first().position) as {
    leaf: string;
  };
  for (const readModels of [followed, empty]) {
    const columns = { type: '', data: '', metadata: '', recorded_at: 0, leaf };
    expect(await differenceWith(readModels, kept, columns)).toMatchObject({ position: kept.position });
  }
});
