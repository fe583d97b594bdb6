import type { z } from 'zod';
import { type CatalogEntry, catalog, type RecordFields } from '../../src/records/catalog.ts';
import { insuranceFields, insuranceSchema } from '../../src/records/kinds/patient.ts';
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

function bodiesOfKind({ kind, schema }: CatalogEntry): Body[] {
  if (kind !== 'patient') return bodiesOf(schema);
  const insured = [null, ...bodiesOf(insuranceSchema)];
  const ranks = insuranceFields.flatMap((rank) => insured.map((insurance) => ({ [rank]: insurance })));
  return [...bodiesOf(schema), ...ranks.map((body) => ({ ...leastOf(schema), ...body }))];
}

/** A field as readers look for it: an insurance's fields are the same in every rank. */
function shownField(field: string): string {
  if (field.endsWith(UNKNOWN)) return 'any other field';
  return code(field.replace(new RegExp(`^(?:${insuranceFields.join('|')})\\.`), 'insurance.'));
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
      'is likely to refuse a value. The answer to an upsert lists them in `warnings`, each as `{field, message}`. Here ' +
      '`insurance.` stands for `primary_insurance.`, `secondary_insurance.` and `tertiary_insurance.`.',
    table(['message', 'fields'], rows),
  );
}
