import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readinessModel } from '../../projections/projection.ts';

/** What makes the findings of the worklist: of anything else here the worklist does not depend. */
const sources = [
  'src/modules/readiness/rules/*.ts',
  'src/modules/readiness/billing.ts',
  'src/domain/records/schema/validation.ts',
  'src/domain/records/fold.ts',
];

/**
 * The sources, as of which the read model has its number. Where a rule finds something else than before, `readinessModel` gets the next number,
 * so that every encounter is evaluated anew; else only the digest is new.
 */
const digests: Record<string, string> = { readiness_v6: '8c367ba39e258bc0' };

test('the number of the worklist stands for the present rules', () => {
  const digest = createHash('sha256');
  for (const path of globSync(sources).sort()) digest.update(readFileSync(path));
  expect(digest.digest('hex').slice(0, 16)).toBe(digests[readinessModel]);
});
