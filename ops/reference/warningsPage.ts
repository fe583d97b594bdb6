import { z } from 'zod';
import { type CatalogEntry, catalog, type RecordFields } from '../../src/records/catalog.ts';
import { qualityWarnings } from '../../src/records/qualityWarnings.ts';
import { code, page, table } from './markdown.ts';

type Body = Record<string, unknown>;

const UNKNOWN = 'unknown_field';

/** Values that are doubtful wherever they are valid. */
const doubtful = ['', ' ', 'x', '123-45-6789', '1234567890', '1850-01-01', '9999-01-01', 'A\u0007'];

/** Fields that are doubtful only together. */
const together: Body[] = [
  { effective_date: '2026-06-01', termination_date: '2026-01-01' },
  { is_completed: true },
  { facility_type: 'laboratory' },
  { [UNKNOWN]: 'x' },
];

/** The required fields of a schema, each with its documented example. */
function leastOf(schema: z.ZodObject): Body {
  const required = Object.entries<z.ZodType>(schema.shape).filter(
    ([, field]) => !field.safeParse(undefined).success,
  );
  return Object.fromEntries(
    required.map(([name, field]) => [name, (field.meta()?.examples as unknown[] | undefined)?.[0]]),
  );
}

/** Bodies of a schema that show each field with each doubtful value, and the doubtful ones together. */
function bodiesOf(schema: z.ZodObject): Body[] {
  const alone = Object.keys(schema.shape).flatMap((field) => doubtful.map((value) => ({ [field]: value })));
  const joint = together.filter((body) =>
    Object.keys(body).every((field) => field === UNKNOWN || Object.hasOwn(schema.shape, field)),
  );
  return [...alone, ...joint].map((body) => ({ ...leastOf(schema), ...body }));
}

/** The schema of the object that a field holds; undefined when it holds none. */
function objectIn(field: z.ZodType): z.ZodObject | undefined {
  let inner = field;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodNullable)
    inner = inner.unwrap() as z.ZodType;
  return inner instanceof z.ZodObject ? inner : undefined;
}

/** As `bodiesOf`; what one object can hold is shown in the first field that holds such a one. */
function bodiesOfKind({ schema }: CatalogEntry): Body[] {
  const shown = new Set<z.ZodObject>();
  const nested = Object.entries<z.ZodType>(schema.shape).flatMap(([name, field]) => {
    const object = objectIn(field);
    if (object === undefined) return [];
    const values = shown.has(object) ? [] : bodiesOf(object);
    shown.add(object);
    return [null, ...values].map((value) => ({ ...leastOf(schema), [name]: value }));
  });
  return [...bodiesOf(schema), ...nested];
}

/** A field as readers look for it. */
function shownField(field: string): string {
  return field.endsWith(UNKNOWN) ? 'any other field' : code(field);
}

/** Every warning that valid bodies are answered with, by its text, with the fields that it is given for. */
function warnings(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const entry of catalog) {
    for (const body of bodiesOfKind(entry)) {
      const valid = entry.schema.safeParse(body);
      if (!valid.success) continue;
      for (const { field, message } of qualityWarnings(entry, body, valid.data as RecordFields)) {
        found.set(message, (found.get(message) ?? new Set()).add(shownField(field)));
      }
    }
  }
  return found;
}

/** `docs/reference/warnings.md` */
export function warningsPage(): string {
  const rows = [...warnings()].map(([message, fields]) => [message, [...fields].join(', ')]);
  return page(
    'Warnings',
    'A warning says that a record was accepted although something about it is doubtful: a field was not stored, or billing ' +
      'is likely to refuse a value. The answer to an upsert lists them in `warnings`, each as `{field, message}`. What is ' +
      'said of the fields of a primary insurance holds for the others, too.',
    table(['message', 'fields'], rows),
  );
}
