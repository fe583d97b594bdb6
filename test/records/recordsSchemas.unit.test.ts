import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { catalog, catalogEntry, type RecordKind } from '../../src/records/catalog.ts';
import { insuranceSchema } from '../../src/records/kinds/patient.ts';
import { type FieldRow, insuranceRows, specTables } from '../support/specTables.ts';

const tables: [string, z.ZodObject, FieldRow[]][] = [
  ...(Object.keys(specTables) as RecordKind[]).map((kind): [string, z.ZodObject, FieldRow[]] => [
    kind,
    catalogEntry(kind).schema,
    specTables[kind],
  ]),
  ['insurance', insuranceSchema, insuranceRows],
];

describe.each(tables)('the schema of %s', (_name, schema, rows) => {
  const json = z.toJSONSchema(z.object(schema.shape), { io: 'input' });

  test("has the specification's fields and no other", () => {
    expect(Object.keys(schema.shape).sort()).toEqual(rows.map(({ field }) => field).sort());
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

test('the catalog holds the five kinds, each after those that it refers to', () => {
  const kinds = catalog.map(({ kind }) => kind);
  expect([...kinds].sort()).toEqual(Object.keys(specTables).sort());
  for (const { kind, references } of catalog) {
    for (const reference of references) {
      expect(kinds.indexOf(reference.kind)).toBeLessThan(kinds.indexOf(kind));
    }
  }
});

test('the catalog knows every field that refers to another record', () => {
  for (const { kind, references } of catalog) {
    const own = specTables[kind].flatMap(({ field, is }) =>
      is.type === 'reference' ? [{ field, kind: is.to }] : [],
    );
    const nested = specTables[kind].flatMap(({ field, is }) =>
      is.type === 'insurance' ? [{ field: `${field}.payer_id`, kind: 'payer' }] : [],
    );
    expect(references.map(({ field, kind }) => ({ field, kind }))).toEqual([...own, ...nested]);
  }
});
