import type { z } from 'zod';

/** Whether a schema would return an input unchanged: nothing invalid, dropped or altered. */
export type Accepts = (input: unknown) => boolean;

type Def = z.core.$ZodTypes['_zod']['def'];

interface Field {
  name: string;
  isOptional: boolean;
  isNullable: boolean;
  accepts: Accepts;
}

/**
 * Returns a function that accepts inputs in place of a schema, in a third of the time; undefined for a schema that
 * uses more than records consist of: objects, strings with bounds and patterns, enumerations, flags. An input it does
 * not accept is left to the schema.
 */
export function acceptor(schema: z.core.$ZodType): Accepts | undefined {
  const { def } = schema._zod as { def: Def };
  switch (def.type) {
    case 'object':
      return def.checks?.length || def.catchall ? undefined : acceptObject(def.shape);
    case 'string':
      return 'coerce' in def || 'format' in def ? undefined : acceptString(def.checks ?? []);
    case 'enum': {
      const values = new Set<unknown>(Object.values(def.entries));
      return def.checks?.length ? undefined : (input) => values.has(input);
    }
    case 'boolean':
      return def.checks?.length || 'coerce' in def ? undefined : (input) => typeof input === 'boolean';
    default:
      return undefined;
  }
}

function acceptObject(shape: Readonly<Record<string, z.core.$ZodType>>): Accepts | undefined {
  const fields: Field[] = [];
  for (const [name, schema] of Object.entries(shape)) {
    const field = fieldOf(name, schema);
    if (field === undefined) return undefined;
    fields.push(field);
  }
  return (input) => {
    if (typeof input !== 'object' || input === null || Array.isArray(input)) return false;
    const sent = input as Record<string, unknown>;
    let known = 0;
    for (const { name, isOptional, isNullable, accepts } of fields) {
      const value = sent[name];
      if (value === undefined) {
        if (!isOptional || name in sent) return false;
      } else {
        known += 1;
        if (value === null ? !isNullable : !accepts(value)) return false;
      }
    }
    // An input with unknown fields is left to the schema, which drops them.
    let all = 0;
    for (const _ in sent) all += 1;
    return all === known;
  };
}

function fieldOf(name: string, schema: z.core.$ZodType): Field | undefined {
  let inner = schema;
  let isOptional = false;
  let isNullable = false;
  for (;;) {
    const { def } = inner._zod as { def: Def };
    if (def.type === 'optional') isOptional = true;
    else if (def.type === 'nullable') isNullable = true;
    else break;
    if (def.checks?.length) return undefined;
    inner = def.innerType;
  }
  const accepts = acceptor(inner);
  return accepts && { name, isOptional, isNullable, accepts };
}

function acceptString(checks: readonly z.core.$ZodCheck<never>[]): Accepts | undefined {
  const checked = checks.map(({ _zod }) => _zod.check as (payload: z.core.ParsePayload) => unknown);
  const payload: z.core.ParsePayload = { value: undefined, issues: [] };
  return (input) => {
    if (typeof input !== 'string') return false;
    payload.value = input;
    for (const check of checked) {
      check(payload);
      if (payload.issues.length === 0 && payload.value === input) continue;
      payload.issues = [];
      return false;
    }
    return true;
  };
}
