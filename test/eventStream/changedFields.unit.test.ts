import fc from 'fast-check';
import { expect, test } from 'vitest';
import { changedFields, diffFields } from '../../src/domain/records/fold.ts';
import type { RecordFields } from '../../src/domain/records/schema/kind.ts';

const value = fc.constantFrom('a', 'b', true, 1);
const insurance = fc.dictionary(fc.constantFrom('payer_id', 'policy_number', 'group_number'), value);
/** Folds of a record: no field of a fold is null. */
const fold = fc
  .record({
    id: fc.constant('record-1'),
    fields: fc.dictionary(fc.constantFrom('city', 'phone', 'status'), value),
    nested: fc.dictionary(fc.constantFrom('primary_insurance', 'secondary_insurance'), insurance),
  })
  .map(({ id, fields, nested }): RecordFields => ({ id, ...fields, ...nested }));

test('the names of changed fields are those of the differences', () => {
  const names = (fields: string[]) => [...fields].sort();
  fc.assert(
    fc.property(fc.option(fold, { nil: undefined }), fold, (before, after) => {
      const expected = diffFields(before, after).map(({ field }) => field);
      expect(names(changedFields(before, after))).toEqual(names(expected));
    }),
    { numRuns: 500 },
  );
});
