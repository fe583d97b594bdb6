import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { rulesDigest } from '../../src/modules/readiness/rules/index.ts';

/** What makes the findings of the worklist: of anything else here the worklist does not depend. */
const sources = [
  'src/modules/readiness/rules/*.ts',
  'src/modules/readiness/billing.ts',
  'src/domain/records/schema/validation.ts',
  'src/domain/records/fold.ts',
];

/**
 * The digests of the sources and of the rules. Where a rule finds something else than before, its `version` is incremented, so
 * that every encounter is evaluated again; otherwise only the digest of the sources is new.
 */
const digests = { sources: 'ba9bfe1adbda1dbb', rules: '3cf59a72d525' };

test('the versions of the rules are those of the present sources', () => {
  const digest = createHash('sha256');
  for (const path of globSync(sources).sort()) digest.update(readFileSync(path));
  expect({ sources: digest.digest('hex').slice(0, 16), rules: rulesDigest }).toEqual(digests);
});
