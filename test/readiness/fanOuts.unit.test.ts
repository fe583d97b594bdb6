import { expect, test } from 'vitest';
import { readProgress } from '../../src/modules/readiness/worklist.ts';
import { afterStep, doneRow, type FanOut, FanOuts } from '../../src/modules/readiness/worklistFanOut.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import type { ReadModels, Row } from '../../src/storage/readModels.ts';

const lists = ['ready payer=y', 'blocked payer=y', 'voided payer=y'];

/** What begins with the event at a position. */
function fanOut(position: number, more: Partial<FanOut> = {}): Row<FanOut> {
  const { workspace = 'clinic' } = more;
  const body = {
    ...{ workspace, kind: 'payer', id: 'y', lists, after: -1, isQuiet: false, done: 0, total: 900 },
    ...{ trigger: { position }, ...more },
  };
  return {
    ...{ id: `${workspace} fan-out ${position}`, partition: `${workspace} under way` },
    ...{ order: position, position, body },
  };
}

const noRows = { page: async () => [] } as unknown as ReadModels;
const rowsUpTo = (order: number) => Array.from({ length: 100 }, (_, n) => ({ order: order - 99 + n }) as Row);

/** What is under way, in turns. */
async function underWay(...rows: Row<FanOut>[]): Promise<FanOuts> {
  const fanOuts = await FanOuts.open(noRows, ['clinic']);
  fanOuts.add(rows);
  return fanOuts;
}

/** Takes the next turn, up to a place in its list; returns its row. */
function step(fanOuts: FanOuts, order: number): Row<FanOut> {
  const row = fanOuts.first as Row<FanOut>;
  const after = afterStep(row, rowsUpTo(order), 100);
  expect(fanOuts.advance(row, after)).toBe(true);
  return after;
}

test('a later change of a record takes the place of the earlier one, and goes on where that was', async () => {
  const fanOuts = await underWay(fanOut(10));
  const before = step(fanOuts, 500);
  const [done, added] = fanOuts.add([fanOut(11)]);
  expect(done).toEqual(doneRow(before));
  expect(added?.body).toEqual({
    ...fanOut(11).body,
    ...{ after: 500, isOneOfSeveral: true },
    lists: [...lists, lists[0]],
  });
  expect(fanOuts.first).toEqual(added);
});

test('where changes never cease, every list gets its turn', async () => {
  const fanOuts = await underWay(fanOut(10));
  const visited = new Set<string | null>();
  for (let position = 11; position < 20; position += 1) {
    const row = fanOuts.first as Row<FanOut>;
    visited.add(row.body.lists[0] as string);
    // The last part of a list.
    expect(fanOuts.advance(row, afterStep(row, [], 100))).toBe(true);
    fanOuts.add([fanOut(position)]);
  }
  expect([...visited].sort()).toEqual([...lists].sort());
});

test('a turn that began before a later change came ends without a trace', async () => {
  const fanOuts = await underWay(fanOut(10));
  const row = fanOuts.first as Row<FanOut>;
  fanOuts.add([fanOut(11)]);
  expect(fanOuts.advance(row, afterStep(row, rowsUpTo(500), 100))).toBe(false);
  expect(fanOuts.first?.id).toBe('clinic fan-out 11');
});

test('all earlier ones of a record end with a later one; others, and rule settings, stay', async () => {
  const stays = [
    fanOut(1, { id: 'z' }),
    fanOut(2, { workspace: 'lab' }),
    fanOut(3, { kind: 'facility' }),
    fanOut(4, { kind: 'workspace', id: 'clinic', isQuiet: true, lists: [null] }),
    fanOut(5, { lists: [] }),
  ];
  const stored = [...stays, fanOut(6), fanOut(7)];
  const readModels = { page: async () => stored } as unknown as ReadModels;
  const fanOuts = await FanOuts.open(readModels, ['clinic']);
  const setting = fanOut(8, { kind: 'workspace', id: 'clinic', isQuiet: true, lists: [null] });
  const written = fanOuts.add([fanOut(9), setting]);
  expect(written.map(({ id, partition }) => [id, partition])).toEqual([
    ['clinic fan-out 6', 'clinic done'],
    ['clinic fan-out 7', 'clinic done'],
    ['clinic fan-out 9', 'clinic under way'],
    ['clinic fan-out 8', 'clinic under way'],
  ]);
  const left: string[] = [];
  for (let row = fanOuts.first; row; row = fanOuts.first) {
    left.push(row.id);
    fanOuts.advance(row);
  }
  expect(left).toEqual([...stays.map(({ id }) => id), 'clinic fan-out 9', 'clinic fan-out 8']);
});

test('an event that is read again after an interruption changes nothing', async () => {
  const fanOuts = await underWay(fanOut(10));
  const after = step(fanOuts, 500);
  expect(fanOuts.add([fanOut(10)])).toEqual([]);
  expect(fanOuts.first).toEqual(after);
});

test('progress names what is under way, and does not wait for it', async () => {
  const row = afterStep(fanOut(10), rowsUpTo(500), 100);
  const readModels = { checkpoint: async () => 10, parked: async () => [], page: async () => [row] };
  const eventLog = { head: async () => 10, readStream: async () => [] };
  const ports = {
    readModels: readModels as unknown as ReadModels,
    eventLog: eventLog as unknown as EventLog,
  };
  expect(await readProgress(ports, 'clinic', Number.POSITIVE_INFINITY)).toMatchObject({
    today: new Date().toISOString().slice(0, 10),
    isCurrent: false,
    underWay: [{ kind: 'payer', id: 'y', done: 100, total: 900 }],
  });
});
