import { afterEach, beforeEach, expect, test } from 'vitest';
import { WorklistRows, worklistModel } from '../../src/modules/readiness/worklistModel.ts';
import { unavailable } from '../../src/platform/errors.ts';
import { openReadModels } from '../../src/server/openStorage.ts';
import type { ReadModels, Row, RowBatch } from '../../src/storage/readModels.ts';

import { temporaryFolder } from '../support/cli.ts';

const folder = temporaryFolder();
let readModels: ReadModels;
let files = 0;

beforeEach(async () => {
  files += 1;
  readModels = await openReadModels(`sqlite:${folder}/${files}.db`);
  await readModels.begin(worklistModel, 'log');
});
afterEach(() => readModels.close());

const row = (id: string, position: number): Row => ({
  ...{ id, partition: 'clinic', order: id.length, position },
  body: { id, position },
});

/** A store without transactions, which goes away after so many rows. */
function cutOff(after: number): ReadModels {
  let written = 0;
  const write = async (...batches: RowBatch[]) => {
    for (const { model, rows, checkpoint } of batches) {
      for (const one of rows) {
        if (written === after) throw unavailable('read model store');
        await readModels.write({ model, rows: [one], checkpoint: 0 });
        written += 1;
      }
      await readModels.write({ model, rows: [], checkpoint });
    }
  };
  return new Proxy(readModels, {
    get(target, name) {
      if (name === 'write') return write;
      const own = Reflect.get(target, name);
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });
}

test.each([0, 1, 2, 3])(
  'a write that was cut off after %i rows is made whole, or not at all',
  async (after) => {
    const first = await WorklistRows.open(readModels);
    const before = [row('a', 1), row('bb', 1)];
    await first.write(before, 1);
    // Who opens it makes the last write again.
    const second = await WorklistRows.open(cutOff(before.length + after));
    const writing = second.write([row('a', 2), row('bb', 2)], 2);
    await (after < 3 ? expect(writing).rejects.toMatchObject({ code: 'unavailable' }) : writing);
    await WorklistRows.open(readModels);
    const isMade = after > 0;
    expect(await readModels.load(worklistModel, ['a', 'bb'])).toEqual(
      isMade ? [row('a', 2), row('bb', 2)] : before,
    );
    expect(await readModels.checkpoint(worklistModel)).toBe(isMade ? 2 : 1);
  },
);
