import type { z } from 'zod';
import { catalog } from '../../src/domain/records/catalog.ts';
import type { CatalogEntry, RecordFields } from '../../src/domain/records/schema/kind.ts';
import type { Checks } from '../../src/domain/records/schema/validation.ts';
import { noSettings } from '../../src/modules/readiness/rules/rule.ts';
import { writeWarnings } from '../../src/modules/readiness/warnings.ts';
import { PREVIOUSLY_ERASED } from '../../src/modules/records/commands/upsert.ts';

import { code, page, table } from './markdown.ts';

type Body = Record<string, unknown>;

const UNKNOWN = 'unknown_field';

/** Values that are doubtful wherever they are valid. */
const doubtful = ['', ' ', 'x', '123-45-6789', '1234567890', '1850-01-01', '9999-01-01', 'A\u0007'];

/** Fields that are doubtful only in combination. */
const together: Body[] = [
  { effective_date: '2026-06-01', termination_date: '2026-01-01' },
  { is_completed: true },
  { is_completed: true, date_of_service: '9999-01-01' },
  { facility_type: 'laboratory' },
  { [UNKNOWN]: 'x' },
];

/** Returns the required fields of a schema, each with its documented example. */
function leastOf(schema: z.ZodObject): Body {
  const required = Object.entries<z.ZodType>(schema.shape).filter(
    ([, field]) => !field.safeParse(undefined).success,
  );
  return Object.fromEntries(
    required.map(([name, field]) => [name, (field.meta()?.examples as unknown[] | undefined)?.[0]]),
  );
}

/** Returns bodies for a schema that contain each field with each doubtful value, and the doubtful combinations. */
function bodiesOf(schema: z.ZodObject): Body[] {
  const single = Object.keys(schema.shape).flatMap((field) => doubtful.map((value) => ({ [field]: value })));
  const joint = together.filter((body) =>
    Object.keys(body).every((field) => field === UNKNOWN || Object.hasOwn(schema.shape, field)),
  );
  return [...single, ...joint].map((body) => ({ ...leastOf(schema), ...body }));
}

/** As `bodiesOf`; what one object can contain is shown in the first field that holds such an object. */
function bodiesOfKind({ schema, nested }: CatalogEntry): Body[] {
  const inner = nested.flatMap(({ field, object }) => {
    const isFirst = nested.find((other) => other.object === object)?.field === field;
    return [null, ...(isFirst ? bodiesOf(object.schema) : [])].map((value) => ({ [field]: value }));
  });
  return [...bodiesOf(schema), ...inner.map((body) => ({ ...leastOf(schema), ...body }))];
}

/** Throws when no body is doubtful for a check: the page would not mention it. */
function requireAllMet(checks: Checks, bodies: readonly Body[], kind: string): void {
  for (const [field, check] of Object.entries(checks)) {
    const isMet = bodies.some((body) => {
      const value = body[field];
      return typeof value === 'string' && value !== '' && check(value, body) !== undefined;
    });
    if (!isMet) throw new Error(`No value here is doubtful for ${kind}.${field}: add one to \`doubtful\`.`);
  }
}

/** Returns a field in the form in which readers look for it. */
function shownField(field: string): string {
  return field.endsWith(UNKNOWN) ? 'any other field' : code(field);
}

/** Returns every warning that is returned for valid bodies, by its text, with the fields for which it is given. */
function warnings(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  found.set(PREVIOUSLY_ERASED.message, new Set([code(PREVIOUSLY_ERASED.field)]));
  for (const entry of catalog) {
    const bodies = bodiesOfKind(entry).filter((body) => entry.schema.safeParse(body).success);
    requireAllMet(entry.checks, bodies, entry.kind);
    for (const { field, object } of entry.nested.slice(0, 1)) {
      requireAllMet(
        object.checks,
        bodies.map((body) => (body[field] ?? {}) as Body),
        field,
      );
    }
    for (const body of bodies) {
      const sent = entry.schema.parse(body) as RecordFields;
      const given = [undefined, sent].flatMap((record) =>
        writeWarnings(entry, body, sent, () => noSettings, record),
      );
      for (const { field, message } of given) {
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
      'said of the fields of a primary insurance also holds for the others. What [the readiness rules](readiness-rules.md) find ' +
      'in a completed encounter itself is among them, unless the workspace has switched a rule off.',
    table(['message', 'fields'], rows),
  );
}
