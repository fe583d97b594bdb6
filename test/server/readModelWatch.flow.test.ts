import { afterAll, beforeAll, expect, test } from 'vitest';
import { models } from '../../projections/index.ts';
import { ReadModelWatch } from '../../src/modules/health.ts';
import { openEventLog, openReadModels } from '../../src/server/openStorage.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import type { ReadModels } from '../../src/storage/readModels.ts';

import { temporaryFolder } from '../support/cli.ts';
import { TestWorkspace } from '../support/samples.ts';

const MINUTE_MS = 60_000;

let eventLog: EventLog;
let readModels: ReadModels;
beforeAll(async () => {
  const folder = temporaryFolder();
  eventLog = await openEventLog(`sqlite:${folder}/events.db`);
  readModels = await openReadModels(`sqlite:${folder}/read-models.db`);
});
afterAll(() => Promise.all([eventLog.close(), readModels.close()]));

test('read models that are a minute behind are told of, and those that stand still', async () => {
  const time = { ms: 0 };
  const clock = { now: () => Date.now() + time.ms, elapsed: () => time.ms };
  const watch = new ReadModelWatch(eventLog, readModels, clock);
  try {
    expect(await watch.findings()).toEqual([]);
    const workspace = new TestWorkspace();
    const { position } = await workspace.append(eventLog, workspace.stream());
    time.ms = MINUTE_MS + 5_000;
    const [finding, ...others] = await watch.findings();
    expect(others).toEqual([]);
    expect(finding).toMatchObject({ code: 'read_models_behind' });
    expect(finding?.message).toMatch(/records_v\d+ by 6\d s.*They are making progress/);
    expect(watch.standStill).toBe(false);

    time.ms += MINUTE_MS;
    expect((await watch.findings())[0]?.message).toContain('Some make no progress');
    expect(watch.standStill).toBe(true);

    await readModels.write(...models.map((model) => ({ model, rows: [], checkpoint: position })));
    time.ms += 5_000;
    expect(await watch.findings()).toEqual([]);
    expect(watch.standStill).toBe(false);
    expect(await watch.lags()).toMatchObject(models.map((model) => ({ model, seconds: 0, parked: 0 })));
  } finally {
    watch.close();
  }
});
