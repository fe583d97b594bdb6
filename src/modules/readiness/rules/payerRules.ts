import { serviceDay } from './days.ts';
import { partsOf } from './facts.ts';
import { payerType } from './insurance.ts';
import {
  claimFields,
  expressionOf,
  PAYER_RULE_ID,
  type PayerRule,
  type Requirement,
} from './payerRuleData.ts';
import { type BilledRecord, type BillingFacts, dayOf, type Rule, type RuleSettings, textOf } from './rule.ts';

const PREFIX = 'payer.';

/** Whether a code is that of a rule of a payer, in force or not. */
export function isPayerRuleCode(code: string): boolean {
  return code.startsWith(PREFIX) && PAYER_RULE_ID.test(code.slice(PREFIX.length));
}

const compiled = new WeakMap<PayerRule, Rule>();

/** Returns the rules of payers in a workspace's settings, as rules like all others. */
export function payerRulesIn({ payerRules }: Pick<RuleSettings, 'payerRules'>): Rule[] {
  return [...(payerRules ?? [])].map(([id, data]) => {
    const known = compiled.get(data) ?? compile(id, data);
    compiled.set(data, known);
    return known;
  });
}

function compile(id: string, { payer, when = [], field, must, severity, text, codes }: PayerRule): Rule {
  const conditions = when.map((one) => ({ path: one.field, test: testOf(one.must) }));
  const test = testOf(must);
  return {
    code: `${PREFIX}${id}`,
    severity,
    title: `${scopeOf(payer)}: ${text.replace(/\.$/, '')}`,
    source: 'A rule of the payer that the workspace has set',
    reads: [field, ...when.map((one) => one.field)],
    ...(codes && { codes }),
    check(facts, settings) {
      if (!isOf(payer, facts.payer)) return [];
      const valueAt = (path: string) => find(path, facts, settings).value;
      if (conditions.some((one) => one.test(valueAt(one.path), valueAt) !== true)) return [];
      const { record, name, value } = find(field, facts, settings);
      if (record === undefined || test(value, valueAt) !== false) return [];
      return [{ record, field: name, text }];
    },
  };
}

/** Returns for which payers a rule holds, in words. */
function scopeOf({ id, code, type }: NonNullable<PayerRule['payer']> = {}): string {
  const named = [code && `payer ID ${code}`, id && `payer ${id}`, type];
  const scope = named.filter((one) => one !== undefined).join(', ') || 'all payers';
  return scope[0]?.toUpperCase() + scope.slice(1);
}

function isOf(wanted: PayerRule['payer'], payer: BilledRecord | undefined): boolean {
  if (wanted === undefined) return true;
  const { id, code, type } = wanted;
  return (
    payer !== undefined &&
    (id === undefined || payer.id === id) &&
    (code === undefined || isAlike(code, textOf(payer, 'payer_code'))) &&
    (type === undefined || isAlike(type, payerType(payer)))
  );
}

function isAlike(one: string, other: string | undefined): boolean {
  return one.toUpperCase() === other?.toUpperCase();
}

/** A field of a claim: its record, its name there, and its value, of a time only the day. */
interface FoundField {
  record: BilledRecord | undefined;
  name: string;
  value: string | undefined;
}

function find(path: string, facts: BillingFacts, settings: RuleSettings): FoundField {
  const known = claimFields.get(path);
  // A later version may have fields that this one does not know.
  if (known === undefined) return { record: undefined, name: path, value: undefined };
  const { part, field: name, isDate } = known;
  const record = partsOf(facts)[part];
  const written = textOf(record, name);
  if (!isDate || record === undefined || written === undefined) return { record, name, value: written };
  const day = path === SERVICE ? serviceDay(record, settings) : dayOf(written);
  return { record, name, value: day };
}

const SERVICE = 'encounter.date_of_service';
/** A longer value matches no pattern. */
const MOST_MATCHED = 100;

type ValueAt = (path: string) => string | undefined;

/** Whether a value, undefined for none, is as demanded; undefined where there is nothing to compare. */
type Test = (value: string | undefined, valueAt: ValueAt) => boolean | undefined;

/** Returns the test that there is a value, which passes. */
const having =
  (passes: (value: string, valueAt: ValueAt) => boolean | undefined): Test =>
  (value, valueAt) =>
    value === undefined ? undefined : passes(value, valueAt);

function testOf({ pattern = '', present, one_of: values, same_as: other, before }: Requirement): Test {
  if (present !== undefined) return (value) => (value !== undefined) === present;
  if (values !== undefined) return having((value) => values.some((one) => isAlike(one, value)));
  if (other !== undefined)
    return having((value, valueAt) => {
      const compared = valueAt(other);
      return compared === undefined ? undefined : isAlike(value, compared);
    });
  if (before !== undefined)
    return having((value, valueAt) => {
      const day = claimFields.has(before) ? valueAt(before) : before;
      return day === undefined ? undefined : value < day;
    });
  const expression = expressionOf(pattern);
  return having((value) => expression && value.length <= MOST_MATCHED && expression.test(value));
}
