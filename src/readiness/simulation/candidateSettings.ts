import { z } from 'zod';
import { documentFieldsSchema } from '../../records/document.ts';
import { visitTypes } from '../../records/kinds/encounter.ts';
import { type RuleSettings, ruleChoices } from '../ruleSettings.ts';
import { rules } from '../rules/index.ts';

/** The file is an operator's own: what it has too much may be named. */
const unknownNames: z.core.$ZodErrorMap = (issue) =>
  issue.code === 'unrecognized_keys' ? `must not have ${issue.keys.join(', ')}` : undefined;

/** An object with some of these names, and no others. */
function someOf<Value extends z.ZodType>(values: readonly (readonly [name: string, value: Value])[]) {
  const shape = Object.fromEntries(values.map(([name, value]) => [name, value.optional()]));
  return z.strictObject(shape, { error: unknownNames }).optional();
}

const days = z.int().min(1).nullable();

/** Settings that are not in force: only what is to be another than now; `null` and `default` take a setting away. */
export const candidateSettingsSchema = z.strictObject(
  {
    rules: someOf(rules.map((rule) => [rule.code, z.enum([...ruleChoices, 'default'])])),
    filing_limits: z
      .strictObject(
        { default: days.optional(), payers: z.record(z.string(), days).optional() },
        { error: unknownNames },
      )
      .optional(),
    required_documents: someOf(
      visitTypes.map((type) => [type, z.array(documentFieldsSchema.shape.category)]),
    ),
  },
  { error: unknownNames },
);
export type CandidateSettings = z.infer<typeof candidateSettingsSchema>;

/** What the rules would go by: the present settings, changed. */
export function withCandidates(present: RuleSettings, candidates: CandidateSettings): RuleSettings {
  const { default: limit = present.filingLimits.default, payers = {} } = candidates.filing_limits ?? {};
  return {
    ...present,
    choices: changed(present.choices, candidates.rules, 'default'),
    filingLimits: {
      byPayer: changed(present.filingLimits.byPayer, payers, null),
      ...(typeof limit === 'number' && { default: limit }),
    },
    requiredDocuments: changed(present.requiredDocuments, candidates.required_documents, undefined),
  };
}

/** A map with other values; `gone` takes one out. */
function changed<Value, Gone>(
  before: ReadonlyMap<string, Value>,
  changes: Partial<Record<string, Value | Gone>> | undefined,
  gone: Gone,
): ReadonlyMap<string, Value> {
  const after = new Map(before);
  for (const [key, value] of Object.entries(changes ?? {})) {
    if (value === gone || value === undefined) after.delete(key);
    else after.set(key, value as Value);
  }
  return after;
}
