import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { audit } from '../../projections/auditTrail.ts';
import { records } from '../../projections/records.ts';
import type { JsonObject, Principal, RecordedEvent } from '../../src/domain/events/event.ts';
import { newEvent } from '../../src/domain/events/newEvent.ts';
import { auditStream, recordStream } from '../../src/domain/events/streams.ts';
import { type ReportRow, reportOf } from '../../src/modules/audit/accessReport.ts';
import { type OfficeHours, setVip } from '../../src/modules/audit/accessReview.ts';
import { ownTarget, project } from '../../src/modules/projections/projector.ts';
import { setTimeZone } from '../../src/modules/readiness/settings.ts';
import { PrincipalNames } from '../../src/modules/records/queries/principalNames.ts';
import { openEventLog, openReadModels } from '../../src/server/openStorage.ts';
import type { EventBatch, EventLog } from '../../src/storage/eventLog.ts';
import type { ReadModels } from '../../src/storage/readModels.ts';
import { temporaryFolder } from '../support/cli.ts';
import { phi } from '../support/output.ts';
import { collect } from '../support/service.ts';

const workspace = 'clinic';
const month = '2026-03';
const officeHours: OfficeHours = { from: '07:00', to: '19:00', days: ['mon', 'tue', 'wed', 'thu', 'fri'] };
const users: Record<string, string> = {
  usr_ada: 'ada.müller@clinic.example',
  usr_bob: 'Bob Okafor',
  usr_new: 'new@clinic.example',
};
const names = new PrincipalNames({
  user: { nameOf: (id) => users[id], refresh: async () => undefined },
});

let eventLog: EventLog;
let readModels: ReadModels;
/** When events were recorded, by id, as the projector sees them. */
const times = new Map<string, string>();

async function append(
  stream: string,
  at: string,
  who: Principal,
  type: string,
  data: JsonObject,
): Promise<void> {
  const event = newEvent({ workspace, principal: who, requestId: uuidv7() }, type, data);
  times.set(event.id, at);
  await eventLog.append(stream, event, 'any');
}

const user = (id: string): Principal => ({ type: 'user', id });
const key: Principal = { type: 'api_key', id: 'key_emr' };

const write = (kind: 'patient' | 'encounter', fields: JsonObject & { id: string }) =>
  append(
    recordStream(workspace, kind, fields.id),
    '2025-12-01T10:00:00.000Z',
    key,
    kind === 'patient' ? 'PatientUpserted' : 'EncounterUpserted',
    fields,
  );

const access = (at: string, who: Principal, data: JsonObject) =>
  append(auditStream(workspace, at.slice(0, 10)), at, who, 'AccessRecorded', data);
const read = (at: string, who: Principal, id: string, kind = 'patient') =>
  access(at, who, { action: 'record.read', kind, record_id: id });
const listed = (at: string, who: Principal, count: number) =>
  access(at, who, { action: 'record.list', kind: 'patient', shown: { ranges: [{ from: 1, to: 9 }], count } });

/** The same log, with the times of the test. */
function atItsTimes(log: EventLog): EventLog {
  const timed = (event: RecordedEvent): RecordedEvent => ({
    ...event,
    recordedAt: times.get(event.id) ?? event.recordedAt,
  });
  async function* follow(...asked: Parameters<EventLog['follow']>): AsyncGenerator<EventBatch> {
    for await (const batch of log.follow(...asked)) yield { ...batch, events: batch.events.map(timed) };
  }
  return new Proxy(log, {
    get(target, name) {
      if (name === 'follow') return follow;
      const own = Reflect.get(target, name);
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });
}

const patients = {
  muller: { id: 'patient-1', last_name: 'van der Muller' },
  subscriber: {
    id: 'patient-2',
    last_name: phi('Ito'),
    primary_insurance: { payer_id: 'payer-1', subscriber_last_name: 'MÜLLER-Lüdenscheidt' },
  },
  other: { id: 'patient-3', last_name: 'Mullerton' },
  vip: { id: 'patient-4', last_name: phi('Sato') },
};

beforeAll(async () => {
  const folder = temporaryFolder();
  eventLog = await openEventLog(`sqlite:${folder}/events.db`);
  readModels = await openReadModels(`sqlite:${folder}/read-models.db`);
  for (const one of Object.values(patients))
    await write('patient', { first_name: 'A', date_of_birth: '1980-01-01', ...one } as JsonObject & {
      id: string;
    });
  await write('encounter', { id: 'encounter-1', patient_id: patients.vip.id });
  const operator = { workspace, principal: { type: 'operator', id: 'root' }, requestId: uuidv7() } as const;
  await setTimeZone(eventLog, operator, 'America/Chicago');
  await setVip({ eventLog, readModels }, operator, patients.vip.id, true);
  // What Ada usually sees: 10 to 30 records on each working day.
  for (const [day, count] of [10, 20, 20, 20, 30].entries())
    await listed(`2026-02-${16 + day}T16:00:00.000Z`, user('usr_ada'), count);
  // Longer ago than eight weeks: not usual any more.
  await listed('2025-12-08T16:00:00.000Z', user('usr_ada'), 900);
  // Monday, in the hours.
  await read('2026-03-02T15:00:00.000Z', user('usr_ada'), patients.muller.id);
  await read('2026-03-02T15:05:00.000Z', user('usr_ada'), patients.muller.id);
  await read('2026-03-02T15:10:00.000Z', user('usr_ada'), patients.subscriber.id);
  await read('2026-03-02T15:15:00.000Z', user('usr_ada'), patients.other.id);
  await read('2026-03-02T15:20:00.000Z', user('usr_bob'), patients.muller.id);
  await read('2026-03-02T15:30:00.000Z', key, patients.muller.id);
  // Through an encounter.
  await read('2026-03-03T15:00:00.000Z', user('usr_bob'), 'encounter-1', 'encounter');
  await read('2026-03-03T15:30:00.000Z', key, patients.vip.id);
  // 60 is three times the median, and 61 is above.
  await listed('2026-03-04T15:00:00.000Z', user('usr_ada'), 60);
  await listed('2026-03-05T15:00:00.000Z', user('usr_ada'), 40);
  await listed('2026-03-05T16:00:00.000Z', user('usr_ada'), 85);
  // Nobody has seen so little that it would be too much.
  await listed('2026-03-05T15:30:00.000Z', user('usr_bob'), 49);
  await listed('2026-03-06T15:30:00.000Z', user('usr_new'), 50);
  // In Chicago, Monday 18:59, 19:00 and Sunday 12:00 (summer time from March 8).
  await read('2026-03-09T23:59:00.000Z', user('usr_bob'), patients.other.id);
  await read('2026-03-10T00:00:00.000Z', user('usr_bob'), patients.other.id);
  await read('2026-03-10T02:00:00.000Z', user('usr_bob'), patients.other.id);
  await read('2026-03-15T17:00:00.000Z', user('usr_new'), patients.other.id);
  await access('2026-03-16T15:00:00.000Z', user('usr_new'), {
    ...{ action: 'record.break_glass', kind: 'patient', record_id: patients.other.id },
    query: { reason: 'The desk is closed.', until: '2026-03-16T15:30:00.000Z' },
  });
  // The next month begins at 05:00 UTC.
  await read('2026-04-01T04:59:00.000Z', user('usr_bob'), patients.muller.id);
  await read('2026-04-01T05:00:00.000Z', user('usr_ada'), patients.muller.id);
  const onParked = (_model: string, _event: unknown, error: unknown) => {
    throw error;
  };
  const { signal } = new AbortController();
  const targets = [ownTarget(audit), ownTarget(records)];
  const source = { eventLog: atItsTimes(eventLog), readModels, onParked };
  await project(targets, source, signal, ({ caughtUp }) => caughtUp);
});
afterAll(async () => {
  await eventLog.close();
  await readModels.close();
});

const withHours = (hours: OfficeHours | undefined) => ({
  known: { workspaces: new Map([[workspace, { officeHours: hours }]]) },
});
const report = async (of = month, hours: [OfficeHours?] = [officeHours]) =>
  (
    await collect(
      (
        await reportOf({ eventLog, readModels, names, directory: withHours(hours[0]) }, workspace, of)
      ).rows,
    )
  ).flat();
const inShort = ({ day, reason, principal, record_id: id, count }: ReportRow) =>
  [day.slice(-2), reason, principal.id, id, count].filter((part) => part !== undefined).join(' ');

test('names who saw what out of the ordinary, newest day first', async () => {
  expect((await report()).map(inShort)).toEqual([
    '31 after_hours usr_bob 1',
    '16 break_glass usr_new patient-3 1',
    '15 after_hours usr_new 1',
    '09 after_hours usr_bob 2',
    '06 more_than_usual usr_new 50',
    '05 more_than_usual usr_ada 125',
    '03 vip usr_bob patient-4 1',
    '02 same_family_name usr_ada patient-2 1',
    '02 same_family_name usr_ada patient-1 2',
  ]);
});

test('says when, and what is usual', async () => {
  const rows = await report();
  const find = (reason: string, day: string) => rows.find((row) => row.reason === reason && row.day === day);
  expect(find('same_family_name', '2026-03-02')).toMatchObject({ from: '2026-03-02T15:10:00.000Z' });
  expect(rows.at(-1)).toMatchObject({ from: '2026-03-02T15:00:00.000Z', to: '2026-03-02T15:05:00.000Z' });
  expect(find('more_than_usual', '2026-03-05')).toMatchObject({ usual: 20, count: 125 });
  expect(find('more_than_usual', '2026-03-06')).toMatchObject({ usual: 0, count: 50 });
  expect(find('break_glass', '2026-03-16')).toMatchObject({ stated: 'The desk is closed.' });
});

test('a row has the same id each time', async () => {
  const ids = (await report()).map(({ id }) => id);
  expect((await report()).map(({ id }) => id)).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
});

test('without office hours, no hour is out of the ordinary', async () => {
  const reasons = (await report(month, [])).map(({ reason }) => reason);
  expect(reasons).not.toContain('after_hours');
  expect(reasons).toHaveLength(6);
});

test('a month begins and ends in the time zone of the workspace', async () => {
  expect((await report('2026-04')).map(inShort)).toEqual([
    '01 same_family_name usr_ada patient-1 1',
    '01 after_hours usr_ada 1',
  ]);
});

test.each(['2026-13', '2026-3', 'March', '1999-01', ''])('%s is no month', async (of) => {
  await expect(report(of)).rejects.toMatchObject({ code: 'validation_failed' });
});
