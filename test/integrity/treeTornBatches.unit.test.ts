import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LEAVES_A_ROW, tree } from '../../projections/tree.ts';
import { verifyWorkspace } from '../../src/modules/integrity/verify.ts';
import { ownTarget, project } from '../../src/modules/projections/projector.ts';
import { unavailable } from '../../src/platform/errors.ts';
import { openEventLog, openReadModels } from '../../src/server/openStorage.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import type { ReadModels, RowBatch } from '../../src/storage/readModels.ts';

import { TestWorkspace } from '../support/samples.ts';

const EVENTS = 3 * LEAVES_A_ROW + 10;

const folder = mkdtempSync(join(tmpdir(), 'chartledger-torn-'));
const workspaces = [new TestWorkspace(), new TestWorkspace()];
let eventLog: EventLog;

beforeAll(async () => {
  eventLog = await openEventLog(`sqlite:${join(folder, 'events.db')}`);
  for (let n = 0; n < EVENTS; n++) {
    for (const workspace of workspaces) {
      await eventLog.append(workspace.stream('payer-1'), workspace.event({ n }, 'PayerUpserted'), 'any');
    }
  }
  // What the service notes for itself is in no tree, though it names a workspace.
  for (const workspace of workspaces) {
    await eventLog.append('delivery-wh_1', workspace.event({ position: 1 }, 'DeliveryNoted'), 'any');
  }
});
afterAll(async () => {
  await eventLog.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Read models of a store without transactions that fails once, when it has written so many rows of all. */
function failingAfter(rowsToWrite: number, readModels: ReadModels): ReadModels {
  let left = rowsToWrite;
  const write = async (...batches: RowBatch[]) => {
    for (const { model, rows, checkpoint } of batches) {
      if (rows.length > left) {
        await readModels.write({ model, rows: rows.slice(0, left), checkpoint: 0 });
        left = Number.POSITIVE_INFINITY;
        throw unavailable('read model store');
      }
      left -= rows.length;
      await readModels.write({ model, rows, checkpoint });
    }
  };
  return new Proxy(readModels, {
    get(target, name) {
      const own = Reflect.get(target, name);
      return name === 'write' ? write : typeof own === 'function' ? own.bind(target) : own;
    },
  });
}

async function projectAll(readModels: ReadModels): Promise<void> {
  const { signal } = new AbortController();
  const onParked = () => undefined;
  await project([ownTarget(tree)], { eventLog, readModels, onParked }, signal, ({ caughtUp }) => caughtUp);
}

test.each([0, 1, 2, 3, 4, 5, 6, 7])(
  'a batch that was cut off after %i rows leaves no gap in the leaves when it is repeated',
  async (rows) => {
    const readModels = await openReadModels(`sqlite:${join(folder, `${rows}.db`)}`);
    const torn = failingAfter(rows, readModels);
    await expect(projectAll(torn)).rejects.toMatchObject({ code: 'unavailable' });
    await projectAll(torn);
    for (const { id } of workspaces) {
      const { tree, compared, difference } = await verifyWorkspace({ eventLog, readModels }, id, {});
      expect({ size: tree.size, compared, difference }).toEqual({ size: EVENTS, compared: EVENTS });
    }
    await readModels.close();
  },
);
