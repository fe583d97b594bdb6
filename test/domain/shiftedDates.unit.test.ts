import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { eventSchemas } from '../../src/modules/eventStream/asyncapi.ts';
import { ChangedFields, toNarrowedEvent } from '../../src/modules/eventStream/changedFields.ts';
import type { CloudEvent } from '../../src/modules/eventStream/cloudEvents.ts';
import type { DeidentificationSettings } from '../../src/modules/eventStream/deidentificationSettings.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import { cloudEventOf, deidentify, type Fields, recordedEventOf } from '../support/log.ts';

const DAY = 86_400_000;
const shifted: DeidentificationSettings = {
  dates: 'shifted',
  determination: 'Report of J. Doe, PhD, of 2026-02-01',
  zipAreas: new Set(['681', '970']),
};

const day = (least: string, most: string) =>
  fc
    .date({ min: new Date(least), max: new Date(most), noInvalidDate: true })
    .map((at) => at.toISOString().slice(0, 10));
/** A day as it may be sent: with or without a time of day, of any offset. */
const sentDate = fc
  .tuple(day('1940-01-01', '2026-12-31'), fc.constantFrom('', 'T09:30:00Z', 'T23:59:59.5-08:00'))
  .map(([date, time]) => date + time);
const zip: fc.Arbitrary<string> = fc.constantFrom('68102', '681021234', '97001-0001', '10001');
/** Nothing else in an event is written with these letters. */
const id = fc.string({ unit: fc.constantFrom(...'αβγδεж%/"\\'), minLength: 3, maxLength: 8 });

const insurance = fc.record(
  {
    payer_id: id,
    effective_date: sentDate,
    termination_date: sentDate,
    subscriber_date_of_birth: sentDate,
    subscriber_zip_code: zip,
  },
  { requiredKeys: ['payer_id'] },
);
/** What was sent of a patient and of the visits; a visit may be changed later without naming its patient. */
const history = fc.record({
  workspace: fc.constantFrom('clinic', 'hospital'),
  patient: fc.record({ id, date_of_birth: sentDate, zip_code: zip, primary_insurance: insurance }),
  visits: fc.array(fc.record({ id, date_of_service: sentDate, changedTo: fc.option(sentDate) }), {
    minLength: 1,
    maxLength: 5,
  }),
});

/** The dates of fields by their dotted name. */
function datesIn(fields: Fields, prefix = ''): [string, string][] {
  return Object.entries(fields).flatMap(([name, value]): [string, string][] => {
    if (typeof value === 'object' && value !== null) return datesIn(value as Fields, `${prefix}${name}.`);
    return /^\d{4}-\d\d-\d\d/.test(String(value)) ? [[prefix + name, String(value).slice(0, 10)]] : [];
  });
}

const noLog = { readStream: async () => [] } as unknown as EventLog;

/** The events of a history in the log, and as the view shows them. */
async function shownOf({
  workspace,
  patient,
  visits,
}: typeof history extends fc.Arbitrary<infer One> ? One : never) {
  const place = (event: RecordedEvent, revision: number, position: number): RecordedEvent => ({
    ...{ ...event, revision, position, stream: event.stream.replace('clinic', workspace) },
    metadata: { ...event.metadata, workspace },
  });
  const sent: RecordedEvent[] = [
    recordedEventOf('patient', patient),
    ...visits.flatMap(({ changedTo, ...visit }, at) => {
      const first = recordedEventOf('encounter', {
        ...visit,
        id: `${visit.id}${at}`,
        patient_id: patient.id,
      });
      if (changedTo === null) return [first];
      return [first, recordedEventOf('encounter', { id: `${visit.id}${at}`, date_of_service: changedTo })];
    }),
  ];
  const events = sent.map((event, at) =>
    place(event, at > 0 && sent[at - 1]?.stream === event.stream ? 1 : 0, at + 1),
  );
  const changes = await new ChangedFields(noLog).changes(events);
  return events.map((event, at) => {
    const change = changes[at];
    if (change === undefined || change instanceof Error) throw new Error('a change is missing');
    return { event, shown: toNarrowedEvent({ deidentify, settings: shifted }, event, change) };
  });
}

const shiftOf = (from: string, to: string | undefined) => (Date.parse(from) - Date.parse(String(to))) / DAY;

describe('shifted dates', () => {
  test('of a patient, of the insurances and visits keep their intervals, and none of them, no ZIP code and no id is as it was sent', async () => {
    await fc.assert(
      fc.asyncProperty(history, async (one) => {
        const shifts = new Set<number>();
        for (const { event, shown } of await shownOf(one)) {
          const dates = new Map(datesIn(shown.data.sent));
          const original = datesIn(event.data);
          expect([...dates.keys()].sort()).toEqual(original.map(([field]) => field).sort());
          for (const [field, date] of original) shifts.add(shiftOf(date, dates.get(field)));
          const text = JSON.stringify(shown.data.sent).replaceAll(/"[\w-]{22}"/g, '""');
          for (const secret of [
            one.patient.id,
            one.patient.zip_code.slice(0, 5),
            ...one.visits.map((visit) => visit.id),
          ])
            expect(text).not.toContain(JSON.stringify(secret).slice(1, -1));
          expect(shown.deidentification).toBe('expert_determination');
          expect(shown.time).toBe('2026-01-01T00:00:00.000Z');
        }
        expect(shifts.size).toBe(1);
        const [shift = 0] = shifts;
        expect(shift).toBeGreaterThanOrEqual(350);
        expect(shift).toBeLessThanOrEqual(380);
      }),
      { numRuns: 200 },
    );
  });

  const birthsIn = (workspace: string, settings = shifted) =>
    Array.from({ length: 100 }, (_, at) => {
      const event = cloudEventOf('patient', { id: `patient-${at}`, date_of_birth: '1984-02-29' });
      return String(deidentify(workspace, event, settings).data.sent.date_of_birth);
    });

  test('differ between patients, and between workspaces', () => {
    const [clinic, hospital] = [birthsIn('clinic'), birthsIn('hospital')];
    expect(new Set(clinic).size).toBeGreaterThan(20);
    const same = clinic.filter((date, at) => date === hospital[at]);
    expect(same.length).toBeLessThan(15);
  });

  test('of a visit are those of the patient that it has after the event', async () => {
    const visit = { id: 'visit', date_of_service: '2026-03-14', changedTo: '2026-03-20' };
    const patient = {
      id: 'a',
      date_of_birth: '1984-02-29',
      zip_code: '68102',
      primary_insurance: { payer_id: 'p' },
    };
    const [born, first, second] = await shownOf({ workspace: 'clinic', patient, visits: [visit] });
    const shift = shiftOf('1984-02-29', String(born?.shown.data.sent.date_of_birth));
    expect(shiftOf('2026-03-14', String(first?.shown.data.sent.date_of_service))).toBe(shift);
    expect(shiftOf('2026-03-20', String(second?.shown.data.sent.date_of_service))).toBe(shift);
  });

  test('still group an age of 90 and more, by the date that is shown', () => {
    const shownAs = (date_of_birth: string) =>
      deidentify('clinic', cloudEventOf('patient', { id: 'a', date_of_birth }), shifted).data.sent
        .date_of_birth;
    expect(shownAs('1930-05-05')).toBe('1936 or earlier');
    expect(shownAs('1937-01-05')).toBe('1936 or earlier');
    expect(shownAs('1938-12-31')).toMatch(/^1937-12-\d\d$|^1938-01-\d\d$/);
  });

  test('are not in a limited data set or under the Safe Harbor, whose events do not name a method', () => {
    const event = cloudEventOf('encounter', { id: 'e', patient_id: 'a', date_of_service: '2026-03-14' });
    const { deidentification, data } = deidentify('clinic', event);
    expect([deidentification, data.sent.date_of_service]).toEqual([undefined, '2026']);
  });

  test('and ZIP areas are as the schema of the view says', () => {
    const fields = { id: 'a', date_of_birth: '1984-02-29', zip_code: '68102' };
    const shown: CloudEvent = deidentify('clinic', cloudEventOf('patient', fields), shifted);
    const schema = eventSchemas.get(shown.dataschema?.replace(/^.*\/schemas\//, '') ?? '');
    expect(schema?.data.safeParse(shown.data).error?.issues ?? []).toEqual([]);
  });
});

describe('a ZIP code', () => {
  const shownOfZip = (kind: string, fields: Fields, record?: Fields) =>
    deidentify('clinic', cloudEventOf(kind, { id: 'a', ...fields }), { ...shifted, dates: 'years' }, record)
      .data;

  test.each([
    ['68102', '681'],
    ['68102-1234', '681'],
    ['970010001', '970'],
    ['10001', '000'],
    ['6810', undefined],
    ['12 Elm Street', undefined],
  ])('%s is shown as %s', (sent, expected) => {
    for (const kind of ['patient', 'provider', 'facility', 'payer'])
      expect(shownOfZip(kind, { zip_code: sent }).sent.zip_code).toBe(expected);
    const { sent: shown } = shownOfZip('patient', {
      primary_insurance: { payer_id: 'p', subscriber_zip_code: sent },
    });
    expect(shown.primary_insurance).toHaveProperty('payer_id');
    expect((shown.primary_insurance as Fields).subscriber_zip_code).toBe(expected);
  });

  test('of another country is left out, also where an earlier event named the country', () => {
    expect(shownOfZip('patient', { zip_code: '68102', country: 'MX' }).sent).not.toHaveProperty('zip_code');
    expect(shownOfZip('patient', { zip_code: '68102' }, { country: 'MX' }).sent).not.toHaveProperty(
      'zip_code',
    );
    expect(shownOfZip('patient', { zip_code: '68102' }, { country: 'USA' }).sent.zip_code).toBe('681');
  });

  test('is left out without a list, and so is that it was changed or cleared', () => {
    const event = cloudEventOf('patient', { id: 'a', gender: 'female', zip_code: null });
    expect(deidentify('clinic', event).data).toMatchObject({
      sent: { id: expect.any(String), gender: 'female' },
      changed: ['id', 'gender'],
    });
    expect(deidentify('clinic', event).data.sent).not.toHaveProperty('zip_code');
    expect(shownOfZip('patient', { zip_code: null })).toMatchObject({
      sent: { zip_code: null },
      changed: ['id', 'zip_code'],
    });
  });
});
