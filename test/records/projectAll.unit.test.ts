import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { records, recordsModel } from '../../projections/records.ts';
import { timeline, timelineModel } from '../../projections/timeline.ts';
import { projectAll } from '../../src/modules/projections/projector.ts';
import { openEventLog, openReadModels } from '../../src/server/openStorage.ts';
import type { EventLog, FollowOptions } from '../../src/storage/eventLog.ts';
import type { ReadModels } from '../../src/storage/readModels.ts';

import { eventually } from '../support/eventually.ts';
import { TestWorkspace } from '../support/samples.ts';

/** More than a read model may be behind the others for both to be kept up together. */
const EVENTS = 10_100;
const WAVE = 500;

const folder = mkdtempSync(join(tmpdir(), 'chartledger-project-'));
const workspace = new TestWorkspace();
let eventLog: EventLog;
let readModels: ReadModels;

beforeAll(async () => {
  eventLog = await openEventLog(`sqlite:${join(folder, 'events.db')}`);
  readModels = await openReadModels(`sqlite:${join(folder, 'read-models.db')}`);
  for (let made = 0; made < EVENTS; made += WAVE) await Promise.all(Array.from({ length: WAVE }, append));
});
afterAll(async () => {
  await Promise.all([eventLog.close(), readModels.close()]);
  rmSync(folder, { recursive: true, force: true });
});

/** Of a payer of its own: the projection of records begins with later ones. */
async function append(): Promise<void> {
  await eventLog.append(
    workspace.stream(`payer-${uuidv7()}`),
    workspace.event({ id: '1', name: 'Aetna' }, 'PayerUpserted'),
    'any',
  );
}

/** The log, with a list of the places after which it is followed; who starts at the beginning waits for `released`. */
function watched(released: Promise<void>) {
  const following: number[] = [];
  async function* follow(options: FollowOptions) {
    following.push(options.after);
    try {
      if (options.after === 0) await released;
      yield* eventLog.follow(options);
    } finally {
      following.splice(following.indexOf(options.after), 1);
    }
  }
  const log = new Proxy(eventLog, {
    get: (target, name) => (name === 'follow' ? follow : Reflect.get(target, name).bind(target)),
  });
  return { log, following };
}

test('a read model that is far behind catches up by itself, then all go together', async () => {
  const onParked = (_model: string, _event: unknown, error: unknown) => {
    throw error;
  };
  const head = await eventLog.head();
  await readModels.begin(recordsModel, await eventLog.identity());
  await readModels.write({ model: recordsModel, rows: [], checkpoint: head });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { log, following } = watched(released);
  const stop = new AbortController();
  const onMismatch = (model: string) => {
    throw new Error(model);
  };
  const ports = { eventLog: log, readModels, onParked, onMismatch };
  const running = projectAll([records, timeline], ports, stop.signal);
  await eventually(() => expect(following.toSorted()).toEqual([0, head]));

  await append();
  const reaches = (model: string, position: number) =>
    eventually(async () => expect(await readModels.checkpoint(model)).toBe(position));
  await reaches(recordsModel, await eventLog.head());
  expect(await readModels.checkpoint(timelineModel)).toBe(0);

  release();
  await reaches(timelineModel, await eventLog.head());
  await eventually(() => expect(following.length).toBe(1));
  await append();
  await reaches(recordsModel, await eventLog.head());
  await reaches(timelineModel, await eventLog.head());
  stop.abort();
  await running;
  expect(following).toEqual([]);
});
