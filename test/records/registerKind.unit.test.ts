import { expect, test } from 'vitest';
import { catalog } from '../../src/domain/records/catalog.ts';
import { type CatalogEntry, registerKind } from '../../src/domain/records/schema/kind.ts';

test('a kind that comes when the catalog is made is refused, and named', () => {
  const before = [...catalog];
  const late: CatalogEntry = { ...(before[0] as CatalogEntry), kind: 'location' };
  expect(() => registerKind(late)).toThrow('the kind location comes too late');
  expect(catalog).toEqual(before);
});
