import { expect, test } from 'vitest';
import { buildAsyncapi, eventSchemas, jsonSchemaOf } from '../../src/modules/eventStream/asyncapi.ts';

interface Schema {
  title?: string;
  type?: string;
  enum?: unknown[];
  anyOf?: Schema[];
  $ref?: string;
  [key: string]: unknown;
}

/** A schema and those within it of which generators make types. */
function typesIn(schema: unknown): Schema[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const inner = Object.values(schema).flatMap(typesIn);
  const { type, enum: values, anyOf = [] } = schema as Schema;
  const isType = type === 'object' || Array.isArray(values) || anyOf.some(({ $ref }) => $ref !== undefined);
  return isType ? [schema as Schema, ...inner] : inner;
}

function expectNamed(schemas: object): string[] {
  const titles = typesIn(schemas).map(({ title }) => title);
  expect(titles.filter((title) => !/^(?:[A-Z][a-z0-9]*)+$/.test(title ?? ''))).toEqual([]);
  expect(titles.filter((title, index) => titles.indexOf(title) !== index)).toEqual([]);
  return titles as string[];
}

const { components } = buildAsyncapi('1.0.0') as { components: { schemas: Record<string, Schema> } };

test('generators make types of one name each, by the titles in the event catalog', () => {
  const titles = expectNamed(components.schemas);
  expect(titles).toEqual(
    expect.arrayContaining([
      ...['PatientUpserted', 'PatientUpsertedData', 'PatientUpsertedSent', 'PatientUpsertedGender'],
      ...['Insurance', 'PatientUpsertedPrimaryInsurance', 'DeidentifiedInsurance'],
      ...['EncounterBilledVersion', 'EncounterReadinessChangedCause', 'DeidentifiedPayerErased'],
    ]),
  );
});

test.each([...eventSchemas.values()])('so do the titles in the schema $name', (schema) => {
  const document = jsonSchemaOf(schema) as Schema;
  const shared = Object.keys((document.$defs ?? {}) as object);
  expect(expectNamed(document)).toEqual(expect.arrayContaining([`${schema.typeName}Data`, ...shared]));
  expect(document.$id).toBe(`/schemas/${schema.name}`);
});
