import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { projections } from '../../projections/index.ts';
import { readinessModel } from '../../projections/projection.ts';
import { records, recordsModel } from '../../projections/records.ts';
import { isOutdated, requestRebuild } from '../../src/modules/projections/checkpoints.ts';
import { retryParked } from '../../src/modules/projections/parking.ts';
import { ownTarget, project, rebuildProjection } from '../../src/modules/projections/projector.ts';
import { openEventLog, openReadModels } from '../../src/server/openStorage.ts';
import type { ReadModels } from '../../src/storage/readModels.ts';

import { eventually } from '../support/eventually.ts';
import { TestWorkspace } from '../support/samples.ts';

const folder = mkdtempSync(join(tmpdir(), 'chartledger-rebuild-beside-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('what the projector folds while a read model is replaced is not lost, where both use the same stores', async () => {
  const workspace = new TestWorkspace();
  const eventLog = await openEventLog(`sqlite:${join(folder, 'events.db')}`);
  const readModels = await openReadModels(`sqlite:${join(folder, 'read-models.db')}`);
  const streams: string[] = [];
  const append = async () => {
    const stream = workspace.stream(`payer-${streams.length}`);
    const event = workspace.event({ id: String(streams.length), name: 'Aetna' }, 'PayerUpserted');
    await eventLog.append(stream, event, 'any');
    streams.push(stream);
  };
  const onParked = (_model: string, _event: unknown, error: unknown) => {
    throw error;
  };
  const reached = () =>
    eventually(async () => expect(await readModels.checkpoint(recordsModel)).toBe(await eventLog.head()));
  const stop = new AbortController();
  const ports = { eventLog, readModels, onParked };
  const run = () => project([ownTarget(records)], ports, stop.signal);
  await append();
  let projecting = run();
  await reached();

  const counted: ReadModels['count'] = async (model) => {
    const count = await readModels.count(model);
    // The new read model is complete, and not yet in its place.
    if (model !== recordsModel) {
      await append();
      await eventually(async () =>
        expect(await readModels.load(recordsModel, [streams[1] as string])).toHaveLength(1),
      );
    }
    return count;
  };
  const sharing = new Proxy(readModels, {
    get: (target, name) => (name === 'count' ? counted : Reflect.get(target, name).bind(target)),
  });
  // The projector may be refused before this continues.
  const refused = expect(projecting).rejects.toMatchObject({ code: 'conflict' });
  await rebuildProjection(records, { ...ports, readModels: sharing }, stop.signal, true);
  await append();
  await refused;
  projecting = run();
  await reached();
  const rows = await readModels.load(recordsModel, streams);
  expect(rows.map(({ id }) => id).toSorted()).toEqual(streams);
  stop.abort();
  await projecting;
  await Promise.all([eventLog.close(), readModels.close()]);
});

test('a worklist that is being rebuilt is not rebuilt once more when parked events are retried', async () => {
  const eventLog = await openEventLog(`sqlite:${join(folder, 'retried-events.db')}`);
  const readModels = await openReadModels(`sqlite:${join(folder, 'retried-read-models.db')}`);
  await requestRebuild(readModels, readinessModel);
  const parked: ReadModels['parked'] = async (model) => {
    const found = await readModels.parked(model);
    // Its updater begins it at this moment.
    if (model === readinessModel) await readModels.begin(model, await eventLog.identity());
    return found;
  };
  const sharing = new Proxy(readModels, {
    get: (target, name) => (name === 'parked' ? parked : Reflect.get(target, name).bind(target)),
  });
  const ports = { eventLog, readModels: sharing, onParked: () => undefined };
  await retryParked(projections, ports, new AbortController().signal);
  expect(await isOutdated(readModels, readinessModel)).toBe(false);
  await Promise.all([eventLog.close(), readModels.close()]);
});
