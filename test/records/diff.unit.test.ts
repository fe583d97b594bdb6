import fc from 'fast-check';
import { expect, test } from 'vitest';
import { diffFields, mergeFields } from '../../src/domain/records/fold.ts';
import type { RecordFields } from '../../src/domain/records/schema/kind.ts';

const id = 'patient-1';

test('the first version changes every field that it has', () => {
  expect(diffFields(undefined, { id, city: 'Omaha', is_completed: false })).toEqual([
    { field: 'id', from: null, to: id },
    { field: 'city', from: null, to: 'Omaha' },
    { field: 'is_completed', from: null, to: false },
  ]);
});

test('equal values are no change, whatever the order of the fields', () => {
  const insurance = { payer_id: 'payer-1', policy_number: 'W1' };
  const before = { id, city: 'Omaha', primary_insurance: insurance };
  const after = { primary_insurance: { policy_number: 'W1', payer_id: 'payer-1' }, city: 'Omaha', id };
  expect(diffFields(before, after)).toEqual([]);
});

test('a field that came, went or took another value is named once', () => {
  const before = { id, city: 'Omaha', phone: '1', state: 'NE' };
  expect(diffFields(before, { id, city: 'Lincoln', state: 'NE', email: 'a@b' })).toEqual([
    { field: 'city', from: 'Omaha', to: 'Lincoln' },
    { field: 'phone', from: '1', to: null },
    { field: 'email', from: null, to: 'a@b' },
  ]);
});

test('an insurance is compared field by field', () => {
  const before = { id, primary_insurance: { payer_id: 'payer-1', policy_number: 'W1', group_number: 'G' } };
  expect(diffFields(before, { id, primary_insurance: { payer_id: 'payer-1', policy_number: 'W2' } })).toEqual(
    [
      { field: 'primary_insurance.policy_number', from: 'W1', to: 'W2' },
      { field: 'primary_insurance.group_number', from: 'G', to: null },
    ],
  );
  expect(diffFields(before, { id }).map(({ field, to }) => [field, to])).toEqual([
    ['primary_insurance.payer_id', null],
    ['primary_insurance.policy_number', null],
    ['primary_insurance.group_number', null],
  ]);
});

const value = fc.oneof(fc.string(), fc.boolean(), fc.constant(null));
const sent = fc.dictionary(fc.constantFrom('city', 'phone', 'state', 'is_completed'), value).chain((fields) =>
  fc
    .option(fc.dictionary(fc.constantFrom('payer_id', 'policy_number', 'group_number'), value), {
      nil: null,
    })
    .map((insurance) => ({ ...fields, id, primary_insurance: insurance }) as RecordFields),
);
const fold = (events: RecordFields[]) =>
  events.reduce((fields, event) => mergeFields(fields, event), { id } as RecordFields);

test('applied to the state before, the changes give the state after', () => {
  fc.assert(
    fc.property(fc.array(sent), sent, (earlier, last) => {
      const before = fold(earlier);
      const after = mergeFields(before, last);
      const flat = (fields: RecordFields) =>
        new Map(diffFields(undefined, fields).map(({ field, to }) => [field, to]));
      const patched = flat(before);
      for (const { field, from, to } of diffFields(before, after)) {
        expect(patched.get(field) ?? null).toBe(from);
        if (to === null) patched.delete(field);
        else patched.set(field, to);
      }
      expect(patched).toEqual(flat(after));
      expect(diffFields(after, mergeFields(after, last))).toEqual([]);
    }),
  );
});
