import { expect, test } from 'vitest';
import type { RecordFields } from '../../src/domain/records/schema/kind.ts';
import { compareRecord } from '../../src/modules/integrations/replay/compare.ts';

type Fields = Record<string, unknown>;

/** What a mapping tells of a record, with what others wrote behind that. */
const side = (mapped: Fields, later: Fields = {}) => ({
  mapped: { id: '1', ...mapped } as RecordFields,
  fields: { id: '1', ...mapped, ...later } as RecordFields,
});
const compare = (present: Fields, before: ReturnType<typeof side>, after: ReturnType<typeof side>) =>
  compareRecord({ id: '1', ...present } as RecordFields, before, after);
const nothing = { corrections: {}, changes: [], changedSince: [] };

test('a field that still is what the mapping in force made of it is corrected', () => {
  expect(compare({ city: 'A', phone: '1' }, side({ city: 'A' }), side({ city: 'B' }))).toEqual({
    corrections: { city: 'B' },
    changes: [{ field: 'city', from: 'A', to: 'B' }],
    changedSince: [],
  });
});

test('a field that is right already, or that both mappings make alike, is left alone', () => {
  expect(compare({ city: 'B' }, side({ city: 'A' }), side({ city: 'B' }))).toEqual(nothing);
  expect(compare({ city: 'C' }, side({ city: 'A' }), side({ city: 'A' }))).toEqual(nothing);
});

test('a field that somebody changed since stays, and is told', () => {
  const told = { ...nothing, changedSince: [{ field: 'city', from: 'C', to: 'B' }] };
  expect(compare({ city: 'C' }, side({ city: 'A' }), side({ city: 'B' }))).toEqual(told);
  const later = { city: 'C' };
  expect(compare({ city: 'C' }, side({ city: 'A' }, later), side({ city: 'B' }, later))).toEqual(told);
  // What somebody else wrote is what both mappings would have left, too.
  expect(compare(later, side({ city: 'A' }, later), side({ city: 'A' }, later))).toEqual(nothing);
});

test('a field of which only one mapping tells is set or cleared', () => {
  expect(compare({}, side({}), side({ city: 'B' })).corrections).toEqual({ city: 'B' });
  expect(compare({ city: 'A' }, side({ city: 'A' }), side({}))).toEqual({
    corrections: { city: null },
    changes: [{ field: 'city', from: 'A', to: null }],
    changedSince: [],
  });
  expect(compare({}, side({ city: null }), side({}))).toEqual(nothing);
});

test('an insurance is compared whole, and told field by field', () => {
  const insurance = (payer_id: string, more: Fields = {}) => ({ primary_insurance: { payer_id, ...more } });
  const before = side(insurance('a', { policy_number: '7' }));
  const after = side(insurance('b', { policy_number: '7' }));
  expect(compare(insurance('a', { policy_number: '7' }), before, after)).toEqual({
    corrections: insurance('b', { policy_number: '7' }),
    changes: [{ field: 'primary_insurance.payer_id', from: 'a', to: 'b' }],
    changedSince: [],
  });
  const since = compare(insurance('a', { policy_number: '8' }), before, after);
  expect(since).toMatchObject({
    corrections: {},
    changedSince: [{ field: 'primary_insurance.payer_id' }, { field: 'primary_insurance.policy_number' }],
  });
  const cleared = compare(insurance('a'), side(insurance('a', { group_number: null })), side(insurance('a')));
  expect(cleared).toEqual(nothing);
});
