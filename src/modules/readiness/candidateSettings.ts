import { z } from 'zod';
import { documentFieldsSchema } from '../../domain/records/document.ts';
import { visitTypes } from '../../domain/records/kinds/encounter.ts';
import { rules } from './rules/index.ts';
import { type RuleSettings, ruleChoices } from './rules/ruleSettings.ts';

/** The file is an operator's own: its surplus names may be repeated. */
const unknownNames: z.core.$ZodErrorMap = (issue) =>
  issue.code === 'unrecognized_keys' ? `must not have ${issue.keys.join(', ')}` : undefined;

/** Returns the schema of an object with some of these names, and no others. */
function someOf<Value extends z.ZodType>(values: readonly (readonly [name: string, value: Value])[]) {
  const shape = Object.fromEntries(values.map(([name, value]) => [name, value.optional()]));
  return z.strictObject(shape, { error: unknownNames }).optional();
}

const days = z.int().min(1).nullable();

/** Settings that are not in force: only what is to change; `null` and `default` remove a setting. */
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

/** Returns the settings that the rules would use: the present ones, changed. */
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

/** Returns a map with other values; `gone` removes one. */
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
