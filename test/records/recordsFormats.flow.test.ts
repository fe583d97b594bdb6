import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { notePhi, phi } from '../support/output.ts';
import {
  type Fields,
  minimal,
  pathOf,
  paths,
  type Referred,
  type SpecKind,
  upsertReferred,
  withField,
} from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { changesBy, sharedService, type TestService } from '../support/service.ts';

const dates = [
  '2026-01-31',
  '2024-02-29',
  '2000-02-29',
  '2026-12-31T23:59:59Z',
  '2026-03-14T09:30:00Z',
  '2026-03-14T09:30:00+02:00',
  '2026-03-14T09:30:00',
  '2026-03-14T09:30',
  '2026-03-14T09:30Z',
  '2026-03-14T09:30:00.5Z',
  '2026-03-14T09:30:00.123456789Z',
  '2016-12-31T23:59:60Z',
  '1899-01-01',
];

/** Other forms of ISO 8601, and the one in which they are stored. */
const otherForms: [sent: string, stored: string][] = [
  ['2026-01-31T24:00:00Z', '2026-02-01T00:00:00Z'],
  ['20260131T093000Z', '2026-01-31T09:30:00Z'],
  ['20260131', '2026-01-31'],
  ['2026-01-31T09:30:00+01:00[Europe/Berlin]', '2026-01-31T09:30:00+01:00'],
  ['2026-03-14T09:30:00-0500', '2026-03-14T09:30:00-05:00'],
  ['2026-03-14T09:30:00+14', '2026-03-14T09:30:00+14:00'],
  ['2026-03-14T09:30:00,123+05:30', '2026-03-14T09:30:00.123+05:30'],
  ['2026-03-14t09:30:00z', '2026-03-14T09:30:00Z'],
  ['2026-031', '2026-01-31'],
  ['2026-W05-6', '2026-01-31'],
];

const noDates = [
  '2026-02-30',
  '2026-02-29',
  '1900-02-29',
  '2026-04-31',
  '2026-13-01',
  '2026-00-10',
  '2026-01-00',
  '2026-01-32',
  '2026-1-5',
  '26-01-05',
  '01/31/2026',
  '2026-01-31T25:00:00Z',
  '2026-01-31T24:00:01Z',
  '2026-01-31T09:30:00[Europe/Berlin]',
  '20260230',
  '2026031',
  '2026-0131',
  '2026-01-31T09:60:00Z',
  '2026-01-31T09:30:61Z',
  '2026-01-31T09:30:00+25:00',
  '2026-01-31T',
  '2026-01-31Z',
  '2026-01-31 extra',
  ' 2026-01-31',
  '2026-01-31\n',
  '2026-01-31T09:30:00Z2026-01-31',
  'tomorrow',
  '<timestamp>',
];

const longIds = ['x'.repeat(255), 'ü'.repeat(255), '😀'.repeat(255), `${'x'.repeat(254)}😀`];
const tooLongIds = ['x'.repeat(256), '😀'.repeat(256), `${'x'.repeat(255)}😀`];
const controlCharacters = ['\u0000', '\t', '\n', '\r', '\u001b', '\u007f', '\u0085'];
const longText = 'n'.repeat(1000);

/** Kind, field, value that the specification leaves open. */
const doubtful: [SpecKind, string, string][] = [
  ['provider', 'npi', '1234567890'],
  ['facility', 'npi', '0000000000'],
  ['provider', 'taxonomy_code', 'family medicine'],
  ['provider', 'email', 'not an address'],
  ['facility', 'tax_id', '123'],
  ['facility', 'clia_number', 'pending'],
  ['facility', 'fax', 'none'],
  ['patient', 'email', 'maria at home'],
  ['patient', 'phone', 'call her son'],
  ['patient', 'state', 'ZZ'],
  ['patient', 'zip_code', 'unknown'],
  ['patient', 'country', 'United States'],
  ['payer', 'contact_email', 'claims desk'],
  ['payer', 'contact_phone', 'see website'],
  ['payer', 'website', 'no website'],
  ['payer', 'state', 'Connecticut'],
  ['payer', 'zip_code', '6156'],
  ['patient', 'date_of_birth', '2999-01-01'],
  ['patient', 'primary_insurance.policy_number', '899-12-3456'],
  ['encounter', 'date_of_service', '1799-01-01'],
  ['patient', 'primary_insurance.subscriber_state', 'Nebraska'],
  ['patient', 'tertiary_insurance.subscriber_zip_code', '6'],
];

onEmbeddedEngines(() => {
  let service: TestService;
  let referred: Referred;
  beforeAll(async () => {
    service = await sharedService();
    referred = await upsertReferred(service);
  });
  afterAll(() => service.stop());

  /** Sends a minimal record with one field set, and says what was answered, stored and is read back. */
  async function send(kind: SpecKind, field: string, value: unknown) {
    const record: Fields = withField(minimal(kind, referred), field, value, referred);
    let answer = { status: 0, body: undefined as never, text: '' };
    const events = await changesBy(service, async () => {
      answer = (await service.post(paths[kind], record)) as never;
    });
    const read = await service.get(pathOf(kind, record.id));
    return { record, ...answer, stored: events.map(({ data }) => data), read: read.body.record };
  }

  test.each(dates)('the date %j is accepted, stored and read back as it was sent', async (date) => {
    for (const [kind, field] of [
      ['patient', 'date_of_birth'],
      ['encounter', 'date_of_service'],
    ] as const) {
      const { record, status, stored, read } = await send(kind, field, date);
      expect({ status, stored, read: read[field] }).toEqual({ status: 200, stored: [record], read: date });
    }
  });

  test.each(otherForms)(
    'the date %j is stored and read back as %j, without a warning',
    async (sent, date) => {
      for (const [kind, field] of [
        ['patient', 'date_of_birth'],
        ['encounter', 'date_of_service'],
        ['patient', 'primary_insurance.effective_date'],
      ] as const) {
        const { record, status, body, stored, read } = await send(kind, field, sent);
        const expected = withField(record, field, date, referred);
        expect({ status, stored, warned: JSON.stringify(body).includes(field) }).toEqual({
          ...{ status: 200, stored: [expected], warned: false },
        });
        expect(read).toMatchObject(expected);
      }
    },
  );

  test.each(noDates)('%j is no date and is refused', async (value) => {
    for (const field of ['date_of_birth', 'primary_insurance.effective_date']) {
      const { status, body, stored } = await send('patient', field, value);
      expect({ status, body, stored }).toMatchObject({
        status: 400,
        body: { details: [{ field }] },
        stored: [],
      });
    }
  });

  test('an id of 255 characters is accepted, and one of 256 is refused', async () => {
    for (const id of longIds) {
      const { status, stored, read } = await send('payer', 'id', id);
      expect({ status, stored: stored[0]?.id, read: read.id }).toEqual({ status: 200, stored: id, read: id });
    }
    for (const id of tooLongIds) {
      const { status, body, stored } = await send('payer', 'id', id);
      expect({ status, body, stored }).toMatchObject({
        status: 400,
        body: { details: [{ field: 'id', message: 'must be at most 255 characters' }] },
        stored: [],
      });
    }
  });

  test.each(controlCharacters)('an id with the control character %j is refused', async (character) => {
    const { status, body, stored } = await send('facility', 'id', `a${character}b`);
    expect({ status, body, stored }).toMatchObject({
      status: 400,
      body: { details: [{ field: 'id' }] },
      stored: [],
    });
  });

  test.each([
    ['Mary\tAnn', 'Mary Ann'],
    ['Mary \r\n\t Ann', 'Mary Ann'],
    ['Mary\u0000Ann', 'Mary Ann'],
    ['Mary\u0085Ann\u007f', 'Mary Ann'],
    ['\u001bMary  Ann\n', 'Mary  Ann'],
  ])('control characters in %j become spaces, with a warning', async (sent, kept) => {
    for (const [kind, field] of [
      ['patient', 'first_name'],
      ['payer', 'name'],
      ['patient', 'address_line_1'],
      ['encounter', 'status'],
      ['patient', 'primary_insurance.subscriber_last_name'],
      ['patient', 'primary_insurance.group_number'],
    ] as const) {
      const { record, status, body, stored, read } = await send(kind, field, sent);
      const expected = withField(record, field, kept, referred);
      expect({ status, stored }).toEqual({ status: 200, stored: [expected] });
      expect(read).toMatchObject(expected);
      const message = 'contained control characters, which were replaced with spaces';
      expect((body as { warnings: object[] }).warnings).toContainEqual({ field, message });
    }
  });

  test('a name of nothing but control characters is empty, and refused', async () => {
    for (const value of ['\u0000', ' \t ', '\r\n']) {
      const { status, body, stored } = await send('patient', 'last_name', value);
      expect({ status, body, stored }).toMatchObject({
        ...{
          status: 400,
          body: { details: [{ field: 'last_name', message: 'must not be empty' }] },
          stored: [],
        },
      });
    }
  });

  test('a string of 1,000 characters is accepted, and one of 1,001 is refused', async () => {
    for (const [kind, field] of [
      ['payer', 'name'],
      ['encounter', 'status'],
      ['patient', 'secondary_insurance.group_number'],
    ] as const) {
      const { record, status, stored } = await send(kind, field, longText);
      expect({ status, stored }).toEqual({ status: 200, stored: [record] });
      const refused = await send(kind, field, `${longText}n`);
      expect(refused).toMatchObject({ status: 400, stored: [], body: { details: [{ field }] } });
    }
  });

  test('a full SSN is refused as ssn_last4, and is dropped when it comes in a field of its own', async () => {
    for (const ssn of ['078-05-1120', '078051120']) {
      notePhi(ssn);
      const refused = await send('patient', 'ssn_last4', ssn);
      expect(refused).toMatchObject({ status: 400, stored: [], body: { details: [{ field: 'ssn_last4' }] } });
      expect(refused.text).not.toContain(ssn);

      const { ssn: _dropped, ...kept } = { ...minimal('patient', referred), ssn };
      const events = await changesBy(service, async () => {
        const { status, body, text } = await service.post(paths.patient, { ...kept, ssn });
        expect({ status, warnings: body.warnings }).toEqual({
          status: 200,
          warnings: [{ field: 'ssn', message: 'is not a known field and was not stored' }],
        });
        expect(text).not.toContain(ssn);
      });
      expect(events.map(({ data }) => data)).toEqual([kept]);
      expect(JSON.stringify(events)).not.toContain(ssn);
    }
  });

  test('an unknown field of an insurance object is dropped and named', async () => {
    const known = { payer_id: referred.payer, policy_number: phi('policy') };
    const { status, body, stored } = await send('patient', 'primary_insurance', {
      ...known,
      ssn: '078-05-1120',
    });
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { warnings: [{ field: 'primary_insurance.ssn' }] },
    });
    expect(stored[0]?.primary_insurance).toEqual(known);
  });

  describe('what the specification leaves open is stored as sent, with a warning', () => {
    test.each(doubtful)('%s.%s %j', async (kind, field, value) => {
      const { record, status, body, stored, text } = await send(kind, field, value);
      expect({ status, body, stored }).toMatchObject({
        status: 200,
        body: { warnings: [{ field, message: expect.any(String) }] },
        stored: [record],
      });
      expect(JSON.parse(text).warnings).toHaveLength(1);
      expect(text).not.toContain(`"${value}"`);
    });
  });
});
