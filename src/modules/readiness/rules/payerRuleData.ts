import { z } from 'zod';
import { type ClaimPart, claimParts } from '../../../domain/events/readinessEvents.ts';
import { catalogEntry, isUsedField } from '../../../domain/records/catalog.ts';
import { MAX_ID_LENGTH, unwrapped } from '../../../domain/records/schema/fields.ts';
import { iso8601 } from '../../../domain/records/schema/isoDates.ts';
import { nestedIn } from '../../../domain/records/schema/kind.ts';
import { exactObject } from '../../../domain/records/schema/validation.ts';

/** A field that a rule of a payer may name: one that a claim uses. */
interface ClaimField {
  part: ClaimPart;
  /** Dotted when nested. */
  field: string;
  isDate: boolean;
  /** The values that it may have; undefined: any text. */
  values?: readonly string[];
}

const kindOf = (part: ClaimPart) => (part === 'rendering_provider' ? 'provider' : part);

function fieldsIn(part: ClaimPart, shape: z.ZodRawShape, holder = ''): [string, ClaimField][] {
  const kind = kindOf(part);
  return Object.entries(shape).flatMap(([name, one]) => {
    const schema = one as z.ZodType;
    const field = `${holder}${name}`;
    if (!isUsedField(kind, field)) return [];
    const nested = nestedIn(schema);
    if (nested) return fieldsIn(part, nested.schema.shape, `${field}.`);
    const plain = unwrapped(schema);
    const isDate = [schema, plain].some((either) => either.meta()?.pattern === iso8601.source);
    const values = plain instanceof z.ZodEnum ? (plain.options as string[]) : undefined;
    return [[`${part}.${field}`, { part, field, isDate, ...(values && { values }) }]];
  });
}

/** The fields that rules of payers may name, by their names: the part of the claim, and the field of its record. */
export const claimFields: ReadonlyMap<string, ClaimField> = new Map(
  claimParts.flatMap((part) => fieldsIn(part, catalogEntry(kindOf(part)).schema.shape)),
);

const MOST_PATTERN = 200;
const MOST_VARYING = 2;

const atom = String.raw`(?:[A-Za-z0-9 \-_/]|\\[dDwWsS.\-/()+&]|\[\^?(?:[A-Za-z0-9 _/.]|[A-Z]-[A-Z]|[a-z]-[a-z]|[0-9]-[0-9]|\\d|\\-)+\])`;
const counted = String.raw`${atom}(?:\?|\{\d{1,2}(?:,\d{1,2})?\})?`;
const PATTERN = new RegExp(String.raw`^(?:${counted})+(?:\|(?:${counted})+)*$`);
const VARYING = /\?|\{\d+,\d+\}/g;

/**
 * Returns the expression that a whole value has to match for a pattern; undefined where the pattern is none that is allowed. Allowed are
 * characters and classes of them, each with a bounded count, and alternatives: without groups and unbounded counts, and with at most
 * two varying counts in an alternative, a match takes a bounded number of steps.
 */
export function expressionOf(pattern: string): RegExp | undefined {
  if (pattern.length > MOST_PATTERN || !PATTERN.test(pattern)) return undefined;
  if (pattern.split('|').some((one) => (one.match(VARYING) ?? []).length > MOST_VARYING)) return undefined;
  try {
    return new RegExp(`^(?:${pattern})$`);
  } catch {
    // A count or a range that ends before it begins.
    return undefined;
  }
}

/** In a workspace. */
export const MOST_PAYER_RULES = 200;
const MOST_TEXT = 300;
const MOST_VALUES = 200;
const MOST_VALUE = 100;
const MOST_CONDITIONS = 10;
const MOST_CODES = 20;

const text = (most: number) => z.string().trim().min(1).max(most);

const fieldName = z
  .string()
  .refine((name) => claimFields.has(name), {
    error: 'must be a field that a claim uses, such as patient.primary_insurance.policy_number',
  })
  .meta({
    description: 'A field that a claim uses, as the part of the claim and the field of its record',
    examples: ['patient.primary_insurance.policy_number'],
  });

const isDay = (name: string) => z.iso.date().safeParse(name).success;

const requirementSchema = exactObject({
  pattern: z
    .string()
    .refine((pattern) => expressionOf(pattern) !== undefined, {
      error:
        'must be a pattern of characters, classes such as [A-Z] and \\d, counts such as {9} and {1,3}, ? and alternatives with |: ' +
        'at most 200 characters, at most two varying counts in an alternative, no groups, no * and no +',
    })
    .optional()
    .meta({
      description:
        'The whole value matches: characters, classes, bounded counts and alternatives; case counts',
      examples: ['[A-Z]{3}\\d{9}'],
    }),
  present: z.boolean().optional().meta({ description: '`true`: it has a value; `false`: it has none' }),
  one_of: z
    .array(text(MOST_VALUE))
    .min(1)
    .max(MOST_VALUES)
    .optional()
    .meta({ description: 'It is one of these values; case does not count' }),
  same_as: fieldName
    .optional()
    .meta({ description: 'It has the value of this field; case does not count, of times only the day' }),
  before: z
    .string()
    .refine((name) => claimFields.get(name)?.isDate || isDay(name), {
      error: 'must be a field with a date that a claim uses, such as encounter.date_of_service, or a day',
    })
    .optional()
    .meta({ description: 'Its day is before that of this field, or before this day' }),
})
  .refine((requirement) => Object.keys(requirement).length === 1, {
    error: 'must have exactly one of pattern, present, one_of, same_as and before',
  })
  .meta({ description: 'What a value has to be. Without a value, only `present` is not met' });

export type Requirement = z.infer<typeof requirementSchema>;

/** Returns what in a requirement does not fit the type of a field, by its name. */
function misfits(
  name: string,
  { before, same_as: other, one_of: values }: Requirement,
): Record<string, string> {
  const field = claimFields.get(name);
  if (field === undefined) return {};
  const isUnlike = other !== undefined && claimFields.get(other)?.isDate === !field.isDate;
  const isUnknown = values?.some((value) => field.values?.includes(value) === false);
  return {
    ...(before !== undefined && !field.isDate && { before: 'can only be asked of a field with a date' }),
    ...(isUnlike && { same_as: 'must name a field with a date for one with a date, and no other' }),
    ...(isUnknown && { one_of: `must have values of the field: ${field.values?.join(', ')}` }),
  };
}

const clause = { field: fieldName, must: requirementSchema };

function checkClause(
  { field, must }: { field: string; must: Requirement },
  context: z.core.$RefinementCtx,
): void {
  for (const [name, message] of Object.entries(misfits(field, must)))
    context.addIssue({ code: 'custom', path: ['must', name], message });
}

const codes = (description: string, form: RegExp) =>
  z
    .array(z.string().regex(form, { error: 'must be bare codes, without their texts' }))
    .max(MOST_CODES)
    .optional()
    .meta({ description });

/** Codes of the lists in which payers and clearinghouses answer; without the texts of the lists. */
export const ruleCodesSchema = exactObject({
  status: codes('Of a claim status in a 277CA, such as `562`', /^[A-Z0-9]{1,5}$/),
  carc: codes('Claim adjustment reason codes, such as `16`', /^[A-Z0-9]{1,5}$/),
  rarc: codes('Remittance advice remark codes, such as `N257`', /^[A-Z0-9]{1,5}$/),
  box: codes('Boxes of the CMS-1500, such as `1a`', /^\d{1,2}[a-jA-J]?$/),
}).meta({ id: 'RuleCodes', description: 'Bare codes under which a claim with such a finding is refused.' });

/** A rule of a payer, as data. */
export const payerRuleSchema = exactObject({
  payer: exactObject({
    id: z.string().min(1).max(MAX_ID_LENGTH).optional().meta({ description: "The caller's id of the payer" }),
    code: text(MOST_TEXT).optional().meta({ description: 'Its `payer_code`; case does not count' }),
    type: text(MOST_TEXT).optional().meta({ description: 'Its `payer_type`; case does not count' }),
  })
    .optional()
    .meta({
      description:
        'The payer of the primary insurance for which it holds, by all that is given; omitted: any',
    }),
  when: z.array(exactObject(clause).superRefine(checkClause)).max(MOST_CONDITIONS).optional().meta({
    description: 'It holds only where all of these are met; one without a value meets only `present: false`',
  }),
  ...clause,
  severity: z.enum(['blocks', 'warns']),
  text: text(MOST_TEXT).meta({
    description: 'What is to be put right, without any value of a record',
    examples: ['Member IDs of this payer have three letters and nine digits.'],
  }),
  codes: ruleCodesSchema.optional(),
})
  .superRefine(checkClause)
  .meta({ id: 'PayerRule', description: 'What a payer demands of claims.' });

export type PayerRule = z.infer<typeof payerRuleSchema>;

/** Bare codes under which a claim is refused. */
export type RuleCodes = z.infer<typeof ruleCodesSchema>;

export const PAYER_RULE_ID = /^[a-z][a-z0-9_]{0,59}$/;

/** The id of a rule of a payer. */
export const payerRuleIdSchema = z
  .string()
  .regex(PAYER_RULE_ID, {
    error: 'must be lower-case letters, digits and underscores, at most 60, beginning with a letter',
  })
  .meta({
    description: 'The id of the rule; its code in findings is `payer.` and the id',
    examples: ['bcbs_member_id'],
  });

/** Rules of payers by their ids. */
export const payerRulesSchema = z
  .record(payerRuleIdSchema, payerRuleSchema)
  .meta({ description: 'The rules by their ids' });

/** Changes of rules of payers, by their ids; `null` removes one. */
export const payerRuleChangesSchema = z.record(payerRuleIdSchema, payerRuleSchema.nullable());
