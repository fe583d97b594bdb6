import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { eventSchemas } from '../../src/modules/eventStream/asyncapi.ts';
import { createDeidentifier } from '../../src/modules/eventStream/deidentification.ts';

import { cloudEventOf, deidentify, type Fields, pseudonym, shownFields } from '../support/log.ts';
import { type FieldType, insuranceRows, specKinds, specTables } from '../support/samples.ts';

describe('ids', () => {
  const encounter = (fields: Fields) => shownFields('encounter', { id: 'a', ...fields });

  test('of one kind join wherever they stand, and differ between kinds', () => {
    const { id, patient_id, provider_id, rendering_provider_id, facility_id } = encounter({
      patient_id: 'a',
      provider_id: 'a',
      rendering_provider_id: 'a',
      facility_id: 'a',
    });
    expect(shownFields('patient', { id: 'a' }).id).toBe(patient_id);
    expect(shownFields('provider', { id: 'a' }).id).toBe(provider_id);
    expect(rendering_provider_id).toBe(provider_id);
    expect(shownFields('facility', { id: 'a' }).id).toBe(facility_id);
    expect(shownFields('insurance', { payer_id: 'a' }).payer_id).toBe(shownFields('payer', { id: 'a' }).id);
    const document = shownFields('document', { encounter_id: 'a', document_id: 'a' });
    expect(document.encounter_id).toBe(id);
    const kinds = [
      id,
      patient_id,
      provider_id,
      facility_id,
      document.document_id,
      shownFields('payer', { id: 'a' }).id,
    ];
    expect(new Set(kinds).size).toBe(6);
    expect(encounter({ patient_id: 'b' }).patient_id).not.toBe(patient_id);
  });

  test('are hashed by a known construction: HMAC-SHA256 under HKDF-SHA256 of the workspace', () => {
    expect(shownFields('patient', { id: 'patient-1001' }).id).toBe('5ojFkXApfLJBP6yPqoLiKG');
  });

  test('of other workspaces, or under another secret, have nothing in common', () => {
    const event = cloudEventOf('patient', { id: 'a' });
    const other = createDeidentifier({ key: Buffer.alloc(32, 8), epoch: 1 });
    const results = [deidentify('clinic', event), deidentify('hospital', event), other('clinic', event)];
    for (const attribute of ['id', 'subject', 'source'] as const) {
      expect(new Set(results.map((result) => result[attribute])).size).toBe(3);
    }
    expect(new Set(results.map(({ data }) => data.sent.id)).size).toBe(3);
  });

  test('need a secret of 32 bytes', () => {
    expect(() => createDeidentifier({ key: Buffer.alloc(31), epoch: 1 })).toThrow('at least 32 bytes');
  });
});

describe('the event', () => {
  test('keeps its type, version and sequence; its time is the year, its ids are hashes', () => {
    const event = cloudEventOf('patient', { id: 'patient/1', first_name: 'Maria', gender: 'female' });
    const result = deidentify('clinic', event);
    expect(result).toEqual({
      specversion: '1.0',
      id: pseudonym,
      source: expect.stringMatching(/^\/workspaces\/[\w-]{22}$/),
      type: 'chartledger.patient.upserted.v1',
      subject: `patient/${result.data.sent.id}`,
      time: '2026-01-01T00:00:00.000Z',
      datacontenttype: 'application/json',
      dataschema: 'https://chartledger.example.com/schemas/chartledger.patient.upserted.v1.deidentified',
      sequence: event.sequence,
      data: { version: 3, sent: { id: pseudonym, gender: 'female' }, changed: ['id', 'gender'] },
    });
  });

  test('of a document names it by hashes, as its data do', () => {
    const { subject, data } = deidentify(
      'clinic',
      cloudEventOf('document', { encounter_id: 'a/b', document_id: 'ü' }),
    );
    expect(subject).toBe(`document/${data.sent.encounter_id}/${data.sent.document_id}`);
  });

  test('of readiness names the encounter, the records of the claim and the cause by the hashes that these have', () => {
    const [of, id] = ['encounter/1', 'payer/1'];
    const told = (type: string, fields: Fields) =>
      deidentify('clinic', cloudEventOf(type, { id: of, encounter_id: of, ...fields }));
    const hashOf = (kind: string, one: string) => shownFields(kind, { id: one }).id;
    const versions = [{ part: 'payer', kind: 'payer', id, version: 2 }];
    const billed = told('EncounterBilled', { claim_id: 'claim-1', versions });
    expect(billed.subject).toBe(`readiness/${hashOf('encounter', of)}`);
    expect(billed.data.sent).toEqual({
      encounter_id: hashOf('encounter', of),
      versions: [{ ...versions[0], id: hashOf('payer', id) }],
    });
    const event = cloudEventOf('payer', { id });
    const cause = { event_id: event.id, kind: 'payer', id, version: 2 };
    expect(told('EncounterReadinessChanged', { to: 'ready', cause, rules_version: 'v' }).data.sent).toEqual({
      encounter_id: hashOf('encounter', of),
      to: 'ready',
      cause: { ...cause, event_id: deidentify('clinic', event).id, id: hashOf('payer', id) },
    });
  });

  test('of a type that the stream does not carry is refused', () => {
    expect(() =>
      deidentify('clinic', { ...cloudEventOf('patient', { id: 'a' }), type: 'constructor' }),
    ).toThrow('not an event of the stream');
  });
});

/** Letters that nothing else in an event is written with, so that finding them is finding the value. */
const secret = fc.string({ unit: fc.constantFrom(...'αβγδεж%/"\\'), minLength: 3, maxLength: 12 });
const date = fc
  .date({ min: new Date('1900-01-01'), max: new Date('2040-12-31'), noInvalidDate: true })
  .chain((at) => fc.constantFrom(at.toISOString(), at.toISOString().slice(0, 10)));

function anyOf(is: FieldType): fc.Arbitrary<unknown> {
  switch (is.type) {
    case 'boolean':
      return fc.boolean();
    case 'date':
      return date;
    case 'oneOf':
      return fc.constantFrom(...is.values);
    case 'digits':
      // Above any year.
      return fc.integer({ min: 5, max: 9 }).map((digit) => String(digit).repeat(is.count));
    case 'characters':
      return fc.constantFrom('NE', 'zz');
    case 'insurance':
      return fc.record(
        Object.fromEntries(insuranceRows.map((row) => [row.field, optional(anyOf(row.is), row.required)])),
      );
    default:
      return secret;
  }
}

const optional = (value: fc.Arbitrary<unknown>, required: boolean) => (required ? value : fc.option(value));

const generated = fc.constantFrom(...specKinds).chain((kind) => {
  const model = specTables[kind].map(({ field, is, required }) => [field, optional(anyOf(is), required)]);
  return fc.record({ kind: fc.constant(kind), fields: fc.record(Object.fromEntries(model)) });
});

function strings(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(strings) : [];
}

const listedValues = new Set(
  [...Object.values(specTables).flat(), ...insuranceRows].flatMap(({ is }) =>
    is.type === 'oneOf' ? is.values : [],
  ),
);

describe('whatever a record holds', () => {
  test('no value of more than two characters is found in the event, but those of a fixed list', () => {
    fc.assert(
      fc.property(generated, ({ kind, fields }) => {
        const { time: _yearOfEvent, ...rest } = deidentify('clinic', cloudEventOf(kind, fields as Fields));
        const result = strings(rest);
        // The hashes are random to look at, so they hold any short text by chance.
        const text = result.map((value) => value.replace(/(?<=^|\/)[\w-]{22}(?=$|\/)/g, '')).join('\n');
        for (const value of strings(fields)) {
          if (value.length <= 2 || listedValues.has(value)) continue;
          expect(text).not.toContain(value);
          expect(text).not.toContain(encodeURIComponent(value));
        }
      }),
      { numRuns: 300, examples: [[{ kind: 'patient', fields: { id: 'αβγ', date_of_birth: '2026-01-01' } }]] },
    );
  });

  test('the event is as its schema says, equal in every replay, and the original is left as it was', () => {
    fc.assert(
      fc.property(generated, ({ kind, fields }) => {
        const event = cloudEventOf(kind, fields as Fields);
        const before = JSON.stringify(event);
        const result = deidentify('clinic', event);
        expect(JSON.stringify(event)).toBe(before);
        expect(createDeidentifier({ key: Buffer.alloc(32, 7), epoch: 1 })('clinic', event)).toEqual(result);
        const schema = eventSchemas.get(result.dataschema?.replace(/^.*\/schemas\//, '') ?? '');
        expect(schema?.data.safeParse(result.data).error?.issues ?? []).toEqual([]);
      }),
    );
  });
});
