import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { catalog } from '../../src/domain/records/catalog.ts';
import { nestedIn } from '../../src/domain/records/schema/kind.ts';
import { acceptor } from '../../src/domain/records/schema/validation.ts';

/** Texts around every bound and pattern of the fields, in the form that JSON gives. */
const texts = fc.oneof(
  fc.constantFrom('', 'a', 'NE', '12', '1234', '1234567893', 'female', 'self', 'office_visit', 'checked_in'),
  fc.constantFrom('2026-01-31', '2026-02-30', '2026-03-14T09:30:00Z', '2026-03-14T25:00', ' 2026-01-31'),
  fc.constantFrom('line\nbreak', '\u0085', '\ud83d\ude00', '\ud83d\ude00'.repeat(255), 'é'.repeat(256)),
  fc.integer({ min: 253, max: 257 }).map((length) => 'x'.repeat(length)),
  fc.integer({ min: 999, max: 1001 }).map((length) => '\ud83d\ude00'.repeat(length)),
  fc.string({ unit: 'binary', maxLength: 12 }),
);
const values = fc.oneof(
  { weight: 6, arbitrary: texts },
  fc.constantFrom(null, true, false, 0, 12, [], {}, ['a']),
);

/** Inputs in which most fields are as they should be. */
function inputs(shape: Readonly<Record<string, z.ZodType>>): fc.Arbitrary<object> {
  const fields = Object.fromEntries(
    Object.entries(shape).map(([name, field]) => {
      const nested = nestedIn(field);
      const [good = null] = (z.globalRegistry.get(field)?.examples ?? []) as unknown[];
      const own = nested ? inputs(nested.schema.shape) : fc.constant(good);
      return [name, fc.oneof({ weight: 30, arbitrary: own }, values)];
    }),
  );
  const known = fc.record(fields, {
    requiredKeys: ['id', 'first_name', 'last_name'].filter((key) => key in fields),
  });
  const more = fc.constantFrom('', '"extra":1,', '"__proto__":{"id":"x"},', '"constructor":"x",');
  return fc
    .tuple(known, fc.oneof({ weight: 5, arbitrary: fc.constant('') }, more))
    .map(([fieldsSent, text]) =>
      JSON.parse(JSON.stringify(fieldsSent).replace('{', `{${text}`).replace(',}', '}')),
    );
}

describe.each(catalog)('$kind', ({ schema }) => {
  test('is accepted at once exactly where its schema would change nothing', () => {
    const accepts = acceptor(schema);
    let accepted = 0;
    fc.assert(
      fc.property(fc.oneof({ weight: 20, arbitrary: inputs(schema.shape) }, values), (input) => {
        const parsed = schema.safeParse(input);
        const isSame = parsed.success && isDeepStrictEqual(parsed.data, input);
        if (isSame) accepted += 1;
        expect(accepts?.(input)).toBe(isSame);
      }),
      { numRuns: 3_000 },
    );
    expect(accepted).toBeGreaterThan(50);
  });
});

test.each([
  z.object({ id: z.string() }).refine(() => true),
  z.object({ id: z.string() }).strict(),
  z.object({ id: z.string().transform((text) => text.length) }),
  z.object({ id: z.string().default('x') }),
  z.object({ id: z.email() }),
  z.coerce.string(),
  z.union([z.string(), z.boolean()]),
])('schemas that say more are left to themselves', (schema) => {
  expect(acceptor(schema)).toBeUndefined();
});
