import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { catalog, catalogEntry } from '../../src/domain/records/catalog.ts';
import { insurance } from '../../src/domain/records/kinds/patient.ts';

import { type FieldRow, insuranceRows, specKinds, specTables } from '../support/samples.ts';

const tables: [string, z.ZodObject, FieldRow[]][] = [
  ...specKinds.map((kind): [string, z.ZodObject, FieldRow[]] => [
    kind,
    catalogEntry(kind).schema,
    specTables[kind],
  ]),
  ['insurance', insurance.schema, insuranceRows],
];

describe.each(tables)('the schema of %s', (_name, schema, rows) => {
  const json = z.toJSONSchema(z.object(schema.shape), { io: 'input' });

  test("has the specification's fields", () => {
    expect(Object.keys(schema.shape)).toEqual(expect.arrayContaining(rows.map(({ field }) => field)));
  });

  test('requires what the specification requires', () => {
    const required = rows.filter((row) => row.required).map(({ field }) => field);
    expect([...(json.required ?? [])].sort()).toEqual(required.sort());
  });

  test("lists the specification's values", () => {
    for (const { field, is } of rows) {
      const listed = JSON.stringify(json.properties?.[field] ?? {}).match(/"enum":(\[[^\]]*\])/)?.[1];
      expect([field, listed]).toEqual([field, is.type === 'oneOf' ? JSON.stringify(is.values) : undefined]);
    }
  });
});

test('the catalog holds the kinds of the specification', () => {
  expect(catalog.map(({ kind }) => kind)).toEqual(expect.arrayContaining(specKinds));
});

test.each(specKinds)('the catalog knows every field of a %s that refers to another record', (kind) => {
  const referring = specTables[kind].flatMap(({ field, is }): { field: string; kind: string }[] => {
    if (is.type === 'insurance') return [{ field: `${field}.payer_id`, kind: 'payer' }];
    return is.type === 'reference' ? [{ field, kind: is.to }] : [];
  });
  const known = catalogEntry(kind).references.map(({ field, kind }) => ({ field, kind }));
  expect(known).toEqual(expect.arrayContaining(referring));
});
