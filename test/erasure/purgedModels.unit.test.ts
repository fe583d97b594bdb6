import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { documentSearchModel } from '../../projections/documentSearch.ts';
import { models } from '../../projections/index.ts';
import { readinessModel, rebuildOf } from '../../projections/projection.ts';
import { recordsModel } from '../../projections/records.ts';
import { deleteOrphans, purgeErased, purgesTable, untilPurged } from '../../src/modules/erasure/purge.ts';
import { openEventLog, openReadModels, openStateStore } from '../../src/server/openStorage.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import type { ReadModels } from '../../src/storage/readModels.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';
import { filesIn } from '../support/files.ts';
import { TestWorkspace } from '../support/samples.ts';

const SECRET = 'Lopez-of-Elm-Street';

let folder: string;
let ports: { eventLog: EventLog; readModels: ReadModels; stateStore: StateStore };
let head: number;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'chartledger-purged-'));
  const url = (name: string) => `sqlite:${join(folder, name)}`;
  ports = {
    eventLog: await openEventLog(url('events.db')),
    readModels: await openReadModels(url('read-models.db')),
    stateStore: await openStateStore(url('state.db')),
  };
  const workspace = new TestWorkspace();
  await workspace.append(ports.eventLog, workspace.stream(), {});
  head = await ports.eventLog.head();
  for (const model of models) await ports.readModels.write({ model, rows: [], checkpoint: head });
});
afterEach(async () => {
  await Promise.all(Object.values(ports).map((store) => store.close()));
  rmSync(folder, { recursive: true, force: true });
});

const row = { id: 'a', partition: 'p', order: 1, position: 1, body: { name: SECRET } };
const withSecret = () => filesIn(folder).filter(([, bytes]) => bytes.includes(SECRET));

test('what earlier versions kept of the worklist is purged, too', async () => {
  const [, name, version] = /^(.+_v)(\d+)$/.exec(readinessModel) ?? [];
  const earlier = `${name}${Number(version) - 1}`;
  await ports.readModels.write({ model: earlier, rows: [row], checkpoint: 1 });
  expect(withSecret()).not.toEqual([]);
  await purgeErased(ports);
  expect(withSecret()).toEqual([]);
});

test('nothing is purged before the search has let go of it', async () => {
  const lagging = documentSearchModel;
  await ports.readModels.begin(lagging, await ports.eventLog.identity());
  await expect(purgeErased(ports)).rejects.toMatchObject({ code: 'unavailable' });
  await ports.readModels.write({ model: lagging, rows: [], checkpoint: head });
  await purgeErased(ports);
});

test('what a rebuild has left that was cut off goes; one that is under way has to end first', async () => {
  const { readModels } = ports;
  const model = rebuildOf(recordsModel);
  await readModels.begin(model, 'log');
  await readModels.write({ model, rows: [row], checkpoint: 1 });
  let reached = 1;
  const advancing = new Proxy(readModels, {
    get: (target, name) =>
      name === 'checkpoint' ? async () => reached++ : Reflect.get(target, name).bind(target),
  });
  await expect(deleteOrphans(advancing, 1)).rejects.toMatchObject({ code: 'unavailable' });
  expect(await readModels.count(model)).toBe(1);
  await deleteOrphans(readModels, 1);
  expect(await readModels.builtFrom(model)).toBeUndefined();
  expect(await readModels.count(model)).toBe(0);
});

test('who waits for a purge waits for the service, and does none', async () => {
  const position = await ports.eventLog.head();
  let isThere = false;
  const waiting = untilPurged(ports, position).then(() => {
    isThere = true;
  });
  const id = await ports.eventLog.identity();
  const purged = (upTo: number) => ({
    id,
    partition: id,
    order: 0,
    revision: upTo,
    body: { position: upTo },
  });
  await ports.stateStore.save(purgesTable, [purged(position - 1)]);
  expect(isThere).toBe(false);
  await ports.stateStore.save(purgesTable, [purged(position)]);
  await waiting;
  await ports.readModels.begin(documentSearchModel, id);
  await expect(untilPurged(ports, position)).rejects.toMatchObject({ code: 'unavailable' });
});
