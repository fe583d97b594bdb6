import { z } from 'zod';
import { catalog, catalogEntry } from '../../src/domain/records/catalog.ts';
import {
  documentFieldsSchema,
  documentFormats,
  MAX_DOCUMENT_BYTES,
} from '../../src/domain/records/document.ts';
import {
  type FieldRules,
  pseudonymSchema,
  type Rule,
} from '../../src/domain/records/schema/deidentification.ts';
import { referenceOf, unwrapped } from '../../src/domain/records/schema/fields.ts';
import { iso8601 } from '../../src/domain/records/schema/isoDates.ts';
import { type CatalogEntry, nestedIn } from '../../src/domain/records/schema/kind.ts';
import { uspsStates } from '../../src/domain/records/schema/states.ts';
import { code, page, table } from './markdown.ts';

const MEBIBYTE = 1024 * 1024;
const anchor = (title: string) => `[${title}](#${title.toLowerCase()})`;

/** Returns what is said of a field, of which some is said of the value inside an optional one. */
const wordsOf = (field: z.ZodType) => ({ ...unwrapped(field).meta(), ...field.meta() });

function typeOf(field: z.ZodType): string {
  const nested = nestedIn(field);
  if (nested) return anchor(nested.title);
  const reference = referenceOf(field);
  if (reference) return `id of ${anchor(catalogEntry(reference.kind).title)}`;
  const { type, enum: values, pattern, minLength } = z.toJSONSchema(unwrapped(field));
  if (values) return `one of ${values.map(String).map(code).join(', ')}`;
  if (pattern === iso8601.source) return 'ISO 8601 date or date-time';
  const digits = /^\^\\d\{(\d+)\}\$$/.exec(pattern ?? '')?.[1];
  if (digits) return `${digits} digits`;
  if (type !== 'string') return String(type);
  const most = wordsOf(field).maxLength;
  return most === undefined ? `${minLength} characters` : `text, up to ${most} characters`;
}

function shownAs(rule: Rule | 'left out' | undefined): string {
  if (rule === undefined || rule === 'left out') return 'left out';
  if (rule.schema === pseudonymSchema) return 'keyed hash';
  if (rule.fields) return 'as its fields';
  return rule.schema.description ?? 'shown';
}

/** Returns the rows of an object's fields. */
function rowsOf(schema: z.ZodObject, rules: FieldRules, filters: CatalogEntry['filters'] = []) {
  return Object.entries<z.ZodType>(schema.shape).map(([name, field]) => [
    code(name),
    typeOf(field),
    field.safeParse(undefined).success ? '' : 'yes',
    wordsOf(field).description ?? '',
    filters.some((filter) => filter.field === name) ? 'yes' : '',
    shownAs(rules[name]),
  ]);
}

const headings = ['field', 'type', 'required', 'meaning', 'filters lists', 'in the de-identified view'];

function kindSections(entry: CatalogEntry): string[] {
  const { title, description, plural, eventType, schema, deidentified, filters } = entry;
  return [
    `## ${title}`,
    `${description} ${code(`POST /integration/${plural}`)}; in the log, ${code(eventType)}.`,
    table(headings, rowsOf(schema, deidentified, filters)),
  ];
}

function nestedSections(): string[] {
  const objects = new Set(catalog.flatMap(({ nested }) => nested.map(({ object }) => object)));
  return [...objects].flatMap(({ title, description, replaces, schema, rules }) => [
    `## ${title}`,
    `${description}. If sent, it replaces ${replaces} as a whole.`,
    table(headings, rowsOf(schema, rules)),
  ]);
}

/** `docs/reference/records.md` */
export function recordsPage(): string {
  return page(
    'Records',
    'The kinds of records and their fields. A field that is not required may be omitted, which keeps its value, or `null`, which clears it. ' +
      '[De-identification](../concepts/de-identification.md) explains the last column.',
    ...catalog.flatMap(kindSections),
    ...nestedSections(),
    '## Document',
    `A file of an encounter, at most ${MAX_DOCUMENT_BYTES / MEBIBYTE} MiB, of type ${Object.keys(
      documentFormats,
    )
      .map((format) => format.toUpperCase())
      .join(' or ')}. ` +
      `${code('POST /integration/encounters/{id}/documents')} with the part ${code('file')} and these fields:`,
    table(
      headings.slice(0, -1),
      rowsOf(documentFieldsSchema, {}).map((row) => row.slice(0, -1)),
    ),
    '## States of a record',
    table(
      ['state', 'how a record gets there', 'what follows'],
      [
        ['current', 'an accepted upsert', 'it can be read, listed, searched for and referred to'],
        [
          'merged',
          '`merged_into` of a patient names another patient; `null` undoes it',
          'both stay readable; readiness, erasure, legal holds and disclosures treat them as one patient',
        ],
        [
          'void',
          '`voided_at` of an encounter has a date; `null` undoes it',
          'it stays readable and is not billed',
        ],
        [
          'erased',
          'an [erasure](../guides/erase-a-patient.md), which cannot be undone',
          'reads get 410 `gone`, references to it are refused, and its id may be used again',
        ],
      ],
    ),
    '## State codes',
    `The values of ${code('state')} that get no warning (USPS Publication 28): ${uspsStates.map(code).join(', ')}.`,
  );
}
