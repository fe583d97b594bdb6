import { z } from 'zod';
import { validate, validationError } from '../../../domain/records/schema/validation.ts';
import {
  claimFields,
  type PayerRule,
  payerRuleIdSchema,
  type Requirement,
} from '../../../modules/readiness/rules/payerRuleData.ts';
import { payerRulesIn } from '../../../modules/readiness/rules/payerRules.ts';
import type { RuleSettings } from '../../../modules/readiness/rules/rule.ts';
import type { CandidateSettings } from '../../../modules/readiness/simulation.ts';
import { type InputField, input, select, textArea } from '../../components/forms.ts';
import { fieldLabel, titleOf } from '../../components/labels.ts';
import { type Html, html, type Refusal, textOf, type Visit } from '../../components/page.ts';

type Form = Visit['form'];
type PayerRules = NonNullable<CandidateSettings['payer_rules']>;

/** The field with several rules of payers, as in a candidate. */
const SEVERAL = 'payer_rules';
/** Characters; rules that are longer are not repeated in an address. */
const MOST_IN_ADDRESS = 4_000;

/** What a value has to be, by the values of the choice. */
const requirements = {
  present: 'has a value',
  absent: 'has no value',
  one_of: 'is one of',
  pattern: 'matches',
  same_as: 'is the same as',
  before: 'is before',
};

const severities = { blocks: 'Blocks billing', warns: 'Warns' };

const REMOVED = 'removed';

const fieldOptions = [...claimFields].map(([value, { part, field }]) => ({
  value,
  text: `${titleOf(part)}: ${fieldLabel(field)}`,
}));

function optionsOf(texts: Record<string, string>) {
  return Object.entries(texts).map(([value, text]) => ({ value, text }));
}

/** Returns the name of the field that has what another rule of a payer does. */
function choiceName(id: string): string {
  return `payer_rule.${id}`;
}

/** Returns the fields for rules of payers to be tried: what those in force do, one more, and several as JSON. */
export function payerRuleFields(
  form: Form,
  settings: RuleSettings,
  payers: InputField['suggestions'],
  refusal?: Refusal,
): Html {
  const value = (name: string) => textOf(form, name);
  const id = value('rule_id');
  const details = refusal?.details ?? [];
  const isOfRule = (field: string) => id !== '' && `${field}.`.startsWith(`${SEVERAL}.${id}.`);
  const errorOf = (name: string, part = '') =>
    details.find(({ field }) => field === name)?.message ??
    details.find(({ field }) => isOfRule(field) && isPart(field.slice(`${SEVERAL}.${id}.`.length), part))
      ?.message;
  const problem = details.find(({ field }) => field.startsWith(SEVERAL) && !isOfRule(field));
  const clause = (
    name: 'rule' | 'when',
    at: string,
    texts: Record<'field' | 'must', string>,
  ) => html`${select({
    ...{ name: `${name}_field`, label: texts.field, value: value(`${name}_field`) },
    options: [{ value: '', text: 'None' }, ...fieldOptions],
    error: errorOf(`${name}_field`, `${at}field`),
  })}
${select({ name: `${name}_must`, label: texts.must, value: value(`${name}_must`), options: optionsOf(requirements) })}
${input({
  ...{ name: `${name}_value`, label: 'Value', value: value(`${name}_value`), autocomplete: 'off' },
  suggestions: fieldOptions,
  error: errorOf(`${name}_value`, `${at}must`),
})}`;
  const isOpen = Object.keys(form).some(
    (name) => /^(?:payer_rules?\b|rule_|when_)/.test(name) && value(name),
  );
  return html`<details${isOpen && html` open`}><summary>Rules of payers</summary>
<div class="rule-choices">${payerRulesIn(settings).map(({ code, title, severity }) => {
    const name = choiceName(code.slice(code.indexOf('.') + 1));
    return select({
      ...{ name, label: title, value: value(name) },
      options: [
        { value: '', text: `${severity}, as now` },
        ...optionsOf({ ...severities, [REMOVED]: 'Removed' }),
      ],
    });
  })}</div>
<fieldset><legend>One more rule</legend>
<div class="field-grid">${input({
    ...{ name: 'rule_id', label: 'Rule ID', value: id, autocomplete: 'off', placeholder: 'member_id' },
    error: errorOf('rule_id'),
  })}
${input({
  ...{ name: 'rule_payer', label: 'Payer', type: 'search', suggestions: payers, placeholder: 'Any' },
  ...{ value: value('rule_payer'), autocomplete: 'off', error: errorOf('rule_payer', 'payer.id') },
})}
${input({
  ...{ name: 'rule_payer_code', label: 'Payer ID on claims', placeholder: 'Any', autocomplete: 'off' },
  ...{ value: value('rule_payer_code'), error: errorOf('rule_payer_code', 'payer.code') },
})}</div>
<div class="field-grid">${clause('rule', '', { field: 'Field', must: 'Demand' })}</div>
<div class="field-grid">${clause('when', 'when.0.', { field: 'Only where this field', must: 'Condition' })}</div>
<small>Several values have commas between them. A pattern has characters, classes and counts, such as [A-Z]{3}\\d{9}. What comes before, or is the same, is another field or a date.</small>
${select({ name: 'rule_severity', label: 'If not met', value: value('rule_severity'), options: optionsOf(severities) })}
${input({
  ...{ name: 'rule_text', label: 'What is to be put right', value: value('rule_text'), autocomplete: 'off' },
  placeholder: 'Member IDs of this payer have three letters and nine digits.',
  error: errorOf('rule_text', 'text'),
})}</fieldset>
<details${(value(SEVERAL) !== '' || problem) && html` open`}><summary>Several rules, as JSON</summary>
${textArea({
  ...{ name: SEVERAL, label: 'Rules to try, as JSON', rows: 8, value: value(SEVERAL) },
  hint: 'By their ids, as in the file of chartledger readiness export-rules; null instead of a rule removes it.',
  error: problem && namedProblem(problem),
})}
</details>
</details>`;
}

/** Whether a path within a rule is that of a part of it, or below it; the rule itself is its id. */
function isPart(path: string, part: string): boolean {
  return part === '' ? path === '' : `${path}.`.startsWith(`${part}.`);
}

/** Returns what is wrong with several rules, or with a part of one. */
function namedProblem({ field, message }: { field: string; message: string }): string {
  return field === SEVERAL ? message : `${fieldLabel(field.slice(SEVERAL.length + 1))} ${message}`;
}

/** Returns the rules of payers that such a form was sent with, unchecked; undefined for none. Throws `validation_failed`. */
export function payerRulesSent(form: Form, { payerRules }: RuleSettings): object | undefined {
  const changed = [...(payerRules ?? [])].flatMap(([id, rule]) => {
    const choice = textOf(form, choiceName(id));
    if (choice === '') return [];
    return [[id, choice === REMOVED ? null : { ...rule, severity: choice }]];
  });
  const all = { ...Object.fromEntries(changed), ...severalSent(textOf(form, SEVERAL)), ...oneSent(form) };
  return Object.keys(all).length > 0 ? all : undefined;
}

function severalSent(text: string): object {
  if (text === '') return {};
  try {
    const sent: unknown = JSON.parse(text);
    if (typeof sent === 'object' && sent !== null && !Array.isArray(sent)) return sent;
  } catch {
    // Reported below.
  }
  throw validationError([{ field: SEVERAL, message: 'must be a JSON object with rules by their ids' }]);
}

const idSchema = z.object({ rule_id: payerRuleIdSchema });

function oneSent(form: Form): object {
  const sent = (name: string) => textOf(form, name) || undefined;
  const [id, field, text, when] = ['rule_id', 'rule_field', 'rule_text', 'when_field'].map(sent);
  if ([id, field, text, when].every((one) => one === undefined)) return {};
  validate(idSchema, { rule_id: id });
  const payer = { id: sent('rule_payer'), code: sent('rule_payer_code') };
  const named = Object.entries(payer).filter(([, value]) => value !== undefined);
  return {
    [String(id)]: {
      ...(named.length > 0 && { payer: Object.fromEntries(named) }),
      ...(when !== undefined && { when: [{ field: when, must: demandSent(form, 'when') }] }),
      ...{ field, must: demandSent(form, 'rule'), severity: sent('rule_severity'), text },
    },
  };
}

function demandSent(form: Form, name: 'rule' | 'when'): object {
  const [demand, value] = [textOf(form, `${name}_must`), textOf(form, `${name}_value`)];
  if (demand === 'present' || demand === 'absent') return { present: demand === 'present' };
  if (demand !== 'one_of') return { [demand]: value };
  return { one_of: value.split(',').flatMap((one) => one.trim() || []) };
}

/** Returns the fields of such a form that was sent with these rules; undefined ones are empty. */
export function payerRuleValues(
  rules: PayerRules | undefined,
  { payerRules }: RuleSettings,
): Record<string, string | undefined> {
  const all = Object.entries(rules ?? {});
  const isChoice = ([id, rule]: (typeof all)[number]) =>
    rule === null ? payerRules?.has(id) : isLike(rule, payerRules?.get(id));
  const choices = all
    .filter(isChoice)
    .map(([id, rule]) => [choiceName(id), rule === null ? REMOVED : rule?.severity]);
  const others = all.filter((one) => !isChoice(one));
  const one = others.length === 1 ? valuesOf(...(others[0] as (typeof all)[number])) : undefined;
  const shown = one ?? { [SEVERAL]: JSON.stringify(Object.fromEntries(others), null, 2) };
  const isShown = others.length > 0 && JSON.stringify(shown).length <= MOST_IN_ADDRESS;
  return { ...Object.fromEntries(choices), ...(isShown && shown) };
}

/** Whether two rules differ in their severity at most. */
function isLike(rule: PayerRule | undefined, other: PayerRule | undefined): boolean {
  const compared = (one: PayerRule | undefined) => JSON.stringify({ ...one, severity: undefined });
  return rule !== undefined && other !== undefined && compared(rule) === compared(other);
}

/** Returns the values of the fields for one more rule; undefined where they cannot say all of it. */
function valuesOf(id: string, rule: PayerRule | null): Record<string, string | undefined> | undefined {
  if (rule === null || rule.codes || rule.payer?.type || (rule.when ?? []).length > 1) return undefined;
  const [when] = rule.when ?? [];
  const demands = [demandValues('rule', rule.must), when && demandValues('when', when.must)];
  if ([rule.must, when?.must].some((must) => must?.one_of?.some((one) => one.includes(','))))
    return undefined;
  return {
    ...{ rule_id: id, rule_payer: rule.payer?.id, rule_payer_code: rule.payer?.code },
    ...{
      rule_severity: rule.severity,
      rule_text: rule.text,
      rule_field: rule.field,
      when_field: when?.field,
    },
    ...Object.assign({}, ...demands),
  };
}

function demandValues(name: 'rule' | 'when', { present, one_of: values, ...other }: Requirement) {
  const [[demand, value] = [present ? 'present' : 'absent', undefined]] = values
    ? [['one_of', values.join(', ')]]
    : Object.entries(other);
  return { [`${name}_must`]: demand, [`${name}_value`]: value };
}
