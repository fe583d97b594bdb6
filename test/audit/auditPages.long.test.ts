import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AuditEntry } from '../../projections/auditAggregation.ts';
import { audit, auditModel } from '../../projections/auditTrail.ts';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { type Caller, newEvent } from '../../src/domain/events/newEvent.ts';
import { auditStream } from '../../src/domain/events/streams.ts';
import { type AuditFilter, readAuditTrail, wholeAuditTrail } from '../../src/modules/audit/trail.ts';
import { ownTarget, project } from '../../src/modules/projections/projector.ts';
import { encodeToken } from '../../src/modules/records/queries/paging.ts';
import { openEventLog, openReadModels } from '../../src/server/openStorage.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import type { ReadModels } from '../../src/storage/readModels.ts';

import { temporaryFolder } from '../support/cli.ts';
import { phi } from '../support/output.ts';
import { readAll } from '../support/service.ts';

const ENTRIES = 100_000;
const IN_FLIGHT = 1_000;
const PATIENTS = 5_000;
const PAGE = 50;
const LONG_MS = 180_000;

const workspace = 'clinic';
/** One entry in 1,000 is of this key; one in all is about this record. */
const [usual, rare] = ['key_usual', 'key_rare'];
const record = phi('patient');

let eventLog: EventLog;
let readModels: ReadModels;
let events: RecordedEvent[];
let rowsRead: number;

beforeAll(async () => {
  const folder = temporaryFolder();
  eventLog = await openEventLog(`sqlite:${folder}/events.db`);
  let next = 0;
  const chain = async () => {
    while (next < ENTRIES) await append(next++);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, chain));
  const opened = await openReadModels(`sqlite:${folder}/read-models.db`);
  const onParked = (_model: string, _event: unknown, error: unknown) => {
    throw error;
  };
  const { signal } = new AbortController();
  await project(
    [ownTarget(audit)],
    { eventLog, readModels: opened, onParked },
    signal,
    ({ caughtUp }) => caughtUp,
  );
  readModels = counting(opened);
  events = (await readAll(eventLog)).reverse();
}, LONG_MS);
afterAll(async () => {
  await eventLog?.close();
  await readModels?.close();
});

async function append(n: number): Promise<void> {
  const caller: Caller = {
    workspace,
    principal: { type: 'api_key', id: n % 1_000 === 7 ? rare : usual },
    requestId: uuidv7(),
    clientIp: '192.0.2.7',
  };
  const id = n === ENTRIES / 2 ? record : `patient-${n % PATIENTS}`;
  const event = newEvent(caller, 'AccessRecorded', { action: 'record.read', kind: 'patient', record_id: id });
  await eventLog.append(auditStream(workspace, '2026-11-21'), event, 'any');
}

/** Counts the rows that are read. */
function counting(counted: ReadModels): ReadModels {
  const count = <Items extends unknown[]>(rows: Items): Items => {
    rowsRead += rows.length;
    return rows;
  };
  return new Proxy(counted, {
    get(target, name) {
      if (name === 'load')
        return async (model: string, ids: string[]) => count(await target.load(model, ids));
      if (name === 'page') {
        return async (...asked: Parameters<ReadModels['page']>) => count(await target.page(...asked));
      }
      const own = Reflect.get(target, name);
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });
}

async function read(filter: AuditFilter, pageToken?: string) {
  rowsRead = 0;
  return readAuditTrail({ eventLog, readModels }, workspace, filter, { limit: PAGE, pageToken });
}

const idsOf = (entries: AuditEntry[]) => entries.map(({ eventId }) => eventId);
/** What a page must hold, out of the log. */
const expected = (isWanted: (event: RecordedEvent) => boolean) =>
  events
    .filter(isWanted)
    .slice(0, PAGE)
    .map(({ id }) => id);

/** The head, and the index rows and chunks that a page lies across, with those that came along. */
const PLAIN_ROWS = 1 + 3 + 3;
/** The indexes of all 1,562 chunks, 16 a row. */
const INDEX_ROWS = 98;
/** These, and at most a chunk for each entry found. */
const SEARCH_ROWS = PLAIN_ROWS + INDEX_ROWS + PAGE + 1;
/** Of an id that looks like that of a patient in the indexes, where ids have 18 bits, the chunks in which that one is. */
const ALIKE_ROWS = ENTRIES / PATIENTS;

describe(`with ${ENTRIES} entries, a page reads few rows:`, () => {
  test('the first one', async () => {
    const { items } = await read({});
    expect(idsOf(items)).toEqual(expected(() => true));
    expect(rowsRead).toBeLessThanOrEqual(PLAIN_ROWS);
  });

  test('any one far down', async () => {
    let token = encodeToken(ENTRIES / 2, [auditModel, workspace, {}]);
    let oldest = 0;
    for (let pages = 0; pages < 20; pages++) {
      const page = await read({}, token);
      expect(page.items).toHaveLength(PAGE);
      expect(rowsRead).toBeLessThanOrEqual(PLAIN_ROWS);
      const position = page.items[0]?.position as number;
      if (oldest > 0) expect(position).toBeLessThan(oldest);
      oldest = page.items.at(-1)?.position as number;
      token = page.next_page_token as string;
    }
  });

  test('by time', async () => {
    const { recordedAt: to } = events[Math.floor(ENTRIES * 0.7)] as RecordedEvent;
    const { items } = await read({ to });
    expect(idsOf(items)).toEqual(expected((event) => event.recordedAt < to));
    // A search of halves through the indexes goes first; clocks may differ by a minute, and all of these are of one.
    expect(rowsRead).toBeLessThanOrEqual(PLAIN_ROWS + 7 + INDEX_ROWS);
  });

  test('by a key that does little', async () => {
    const { items } = await read({ principal: rare });
    expect(idsOf(items)).toEqual(expected(({ metadata }) => metadata.principal.id === rare));
    expect(rowsRead).toBeLessThanOrEqual(SEARCH_ROWS);
  });

  test('by a record that was read once', async () => {
    const { items, next_page_token } = await read({ id: record });
    expect(idsOf(items)).toEqual(expected(({ data }) => data.record_id === record));
    expect(items).toHaveLength(1);
    expect(next_page_token).toBeNull();
    expect(rowsRead).toBeLessThanOrEqual(SEARCH_ROWS);
  });

  test('by a record that nobody read, or by what never came together', async () => {
    for (const filter of [{ id: phi('patient') }, { principal: rare, id: record }, { outcome: 'refused' }]) {
      expect(await read(filter)).toMatchObject({ items: [], next_page_token: null });
      expect(rowsRead).toBeLessThanOrEqual(PLAIN_ROWS + 98 + ALIKE_ROWS);
    }
  });
});

test('the whole trail is read with turns for other work, though the store answers within the thread', async () => {
  const trail = await wholeAuditTrail({ eventLog, readModels }, workspace, {});
  let turns = 0;
  let running = true;
  const count = () => {
    turns += 1;
    if (running) setImmediate(count);
  };
  setImmediate(count);
  let pages = 0;
  for await (const _ of trail) pages += 1;
  running = false;
  expect(pages).toBe(ENTRIES / 1_000);
  expect(turns).toBeGreaterThanOrEqual(pages - 1);
});
