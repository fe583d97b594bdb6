/** A JSON Schema, as far as titles need it. */
interface Schema {
  type?: unknown;
  enum?: readonly unknown[];
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  $defs?: Record<string, Schema>;
  $ref?: string;
}

/** Returns a name in PascalCase: `billing_change` becomes `BillingChange`. */
export function pascalCase(name: string): string {
  return name.replace(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function mapValues<Value>(values: Record<string, Value>, map: (value: Value, name: string) => Value) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value, name)]));
}

/**
 * Returns a schema in which objects, enumerations and unions of objects have titles, from which code generators name types: the one itself `title`,
 * those within it `base` and the name of their field. What other schemas share is named as it is there.
 */
export function withTitles(schema: object, title: string, base = title): object {
  return titled(schema, title, base);
}

function titled({ $defs, properties, items, anyOf, ...schema }: Schema, title: string, base: string): Schema {
  const isUnion = anyOf?.some(({ $ref }) => $ref !== undefined);
  const isType = schema.type === 'object' || schema.enum !== undefined || isUnion;
  return {
    ...(isType && { title }),
    ...schema,
    ...(properties && {
      properties: mapValues(properties, (field, name) => titled(field, base + pascalCase(name), base)),
    }),
    ...(items && { items: titled(items, title.replace(/s$/, ''), base) }),
    ...(anyOf && { anyOf: anyOf.map((option) => titled(option, title, base)) }),
    ...($defs && { $defs: mapValues($defs, (shared, name) => titled(shared, name, name)) }),
  };
}
