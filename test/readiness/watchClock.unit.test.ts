import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { NewEvent } from '../../src/domain/events/event.ts';
import { flipsList, MINUTE_MS, minuteOf } from '../../src/modules/readiness/worklistModel.ts';
import { type WorklistWork, watchClock } from '../../src/modules/readiness/worklistUpdater.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import type { PageQuery, ReadModels, Row } from '../../src/storage/readModels.ts';

import { eventually } from '../support/eventually.ts';

const MANY = 10_000;
const MORNING = Date.parse('2026-03-14T09:30:00Z');

let now: number;
let stop: AbortController;
beforeEach(() => {
  stop = new AbortController();
  vi.spyOn(Date, 'now').mockImplementation(() => now);
});
afterEach(() => {
  stop.abort();
  vi.restoreAllMocks();
});

/** Watches a worklist of one workspace, which can be added to; `asked` are the lists that were read. */
function watched(minute: number, { head = 0 } = {}) {
  const rows: Row[] = [];
  const asked: (string | undefined)[] = [];
  const evaluated: string[] = [];
  const page = async (_model: string, { list, after = -1 }: PageQuery) => {
    asked.push(list);
    if (asked.length > MANY) throw new Error('too much is read');
    return rows.filter((row) => (list === undefined || row.lists?.includes(list)) && row.order > after);
  };
  const clock = { id: 'clock', partition: 'clock', order: 0, position: 1, body: { minute } };
  const tally = { id: 'clinic tally', body: { states: { blocked: 349, ready: 7_235 }, rules: {} } };
  const load = async (_model: string, ids: string[]) => [clock, tally].filter(({ id }) => ids.includes(id));
  const counted: unknown[] = [];
  const log = {
    head: async () => head,
    readStream: async () => [],
    append: async (_stream: string, event: NewEvent) => void counted.push(event.data),
  };
  const progress = { checkpoint: 0 };
  const checkpoint = async () => progress.checkpoint;
  const work = {
    workspaces: ['clinic'],
    evaluate: async (_workspace: string, encounters: ReadonlyMap<string, unknown>) => {
      evaluated.push(...encounters.keys());
      rows.length = 0;
    },
    write: async () => undefined,
  };
  const ports = {
    readModels: { load, page, checkpoint, parked: async () => [] } as unknown as ReadModels,
    eventLog: log as unknown as EventLog,
  };
  /** Adds an encounter that changes by itself at a moment. */
  const add = (id: string, flipsAt: number) =>
    rows.push({
      ...{ id, partition: 'clinic.encounter', order: rows.length, position: 1 },
      body: { encounter_id: id, state: 'blocked', findings: [], flips_at: flipsAt },
      lists: [flipsList(minuteOf(flipsAt))],
    });
  const watching = watchClock(ports, work as unknown as WorklistWork, stop.signal);
  return { add, asked, evaluated, counted, progress, watching };
}

test('what changes by itself is evaluated though it was written after the minute in which it did', async () => {
  now = MORNING + MINUTE_MS - 200;
  const { add, asked, evaluated, watching } = watched(minuteOf(now));
  await eventually(() => expect(asked).toContain(flipsList(minuteOf(now))));
  now = MORNING + MINUTE_MS + 200;
  await eventually(() => expect(asked).toContain(flipsList(minuteOf(now))));
  add('late', MORNING + MINUTE_MS - 100);
  now = MORNING + 2 * MINUTE_MS;
  await eventually(() => expect(evaluated).toEqual(['late']));
  stop.abort();
  await watching;
});

test('a clock that was decades behind, or a long time without the service, is not gone through minute by minute', async () => {
  now = MORNING;
  const { add, asked, evaluated, watching } = watched(0);
  add('flipped', MORNING - 365 * 24 * 60 * MINUTE_MS);
  add('later', MORNING + MINUTE_MS);
  await Promise.race([watching, eventually(() => expect(evaluated).toEqual(['flipped']))]);
  expect(asked.length).toBeLessThan(10);
  stop.abort();
  await watching;
});

test('a day is counted once the worklist is current, not half evaluated', async () => {
  now = MORNING + 24 * 60 * MINUTE_MS;
  const { asked, counted, progress, watching } = watched(minuteOf(MORNING), { head: 7_584 });
  await eventually(() => expect(asked.filter((list) => list === flipsList(minuteOf(now)))).toHaveLength(3));
  expect(counted).toEqual([]);
  progress.checkpoint = 7_584;
  await eventually(() => expect(counted).toMatchObject([{ day: '2026-03-14', states: { ready: 7_235 } }]));
  stop.abort();
  await watching;
});
