import { documentFieldsSchema } from '../../domain/records/document.ts';
import { visitTypes } from '../../domain/records/kinds/encounter.ts';
import { validate } from '../../domain/records/schema/validate.ts';
import {
  type CandidateSettings,
  candidateSettingsSchema,
} from '../../modules/readiness/candidateSettings.ts';
import { rules } from '../../modules/readiness/rules/index.ts';
import type { RequiredDocuments } from '../../modules/readiness/rules/requiredDocuments.ts';
import { choiceOf, type RuleSettings, ruleChoices } from '../../modules/readiness/rules/ruleSettings.ts';
import { serviceDaysSchema } from '../../modules/readiness/serviceDays.ts';
import { simulationPath } from '../components/analysisPaths.ts';
import { formError, input, messageOf, select } from '../components/formFields.ts';
import { type Html, html } from '../components/html.ts';
import type { Visit } from '../components/route.ts';
import { type Refusal, textOf } from '../components/sentForm.ts';

type Form = Visit['form'];

const categories = documentFieldsSchema.shape.category.options;
const AS_NOW = '';

/**
 * Returns the form for settings to be tried; `form` is what it was sent with. Its fields have the names used in a
 * candidate.
 */
export function simulationForm(
  { workspace, csrf, form }: Visit,
  settings: RuleSettings,
  refusal?: Refusal,
): Html {
  const errorOf = (...fields: string[]) =>
    fields.map((field) => messageOf(refusal?.details, field)).find((message) => message !== undefined);
  const line = (name: string, label: string, type: 'text' | 'number' | 'date', ...errors: string[]) =>
    input({ name, label, type, value: textOf(form, name), error: errorOf(name, ...errors) });
  const choice = (name: string, label: string, options: readonly string[], hint?: string) =>
    select({
      ...{ name, label, hint, value: textOf(form, name), error: errorOf(name) },
      options: [{ value: AS_NOW, text: 'No change' }, ...options.map((value) => ({ value, text: value }))],
    });
  return html`${formError(refusal?.text)}
<form method="post" action="${simulationPath(workspace)}">${csrf}
<details${refusal && html` open`}><summary>Rules</summary>
<div class="filter-fields">${rules.map((rule) =>
    choice(`rules.${rule.code}`, rule.title, [...ruleChoices, 'default'], `Now: ${choiceOf(settings, rule)}`),
  )}</div>
</details>
<div class="filter-fields">
${line('filing_limits.default', 'Filing limit for all payers, in days', 'number')}
${line('payer_id', 'Payer ID with a different filing limit', 'text')}
${line('payer_days', 'Filing limit for this payer, in days', 'number', `filing_limits.payers.${textOf(form, 'payer_id')}`)}
${choice('visit_type', 'Visit type that requires one more document', visitTypes)}
${choice('category', 'Document category', categories)}
${line('from', 'Date of service, from', 'date')}
${line('to', 'Date of service, to', 'date')}
</div>
<div class="actions"><button type="submit">Simulate</button></div>
</form>`;
}

/** Returns what such a form was sent with. Throws `validation_failed`. */
export function simulationSent(form: Form, settings: RuleSettings) {
  const sent = (name: string) => textOf(form, name) || undefined;
  const chosen = rules.flatMap(({ code }) => (sent(`rules.${code}`) ? [[code, sent(`rules.${code}`)]] : []));
  const limit = sent('filing_limits.default');
  const [payer, days] = [sent('payer_id'), sent('payer_days')];
  const required = requiredSent(sent('visit_type'), sent('category'), settings.requiredDocuments);
  const candidates: CandidateSettings = validate(candidateSettingsSchema, {
    ...(chosen.length > 0 && { rules: Object.fromEntries(chosen) }),
    ...((limit || payer) && {
      filing_limits: {
        ...(limit && { default: Number(limit) }),
        ...(payer && { payers: { [payer]: Number(days) } }),
      },
    }),
    ...(required && { required_documents: required }),
  });
  return { candidates, days: validate(serviceDaysSchema, { from: sent('from'), to: sent('to') }) };
}

/** Returns the documents that the visit type requires, and one more. */
function requiredSent(
  visitType: string | undefined,
  category: string | undefined,
  required: RequiredDocuments,
): Record<string, string[]> | undefined {
  if (visitType === undefined || category === undefined) return undefined;
  return { [visitType]: [...new Set([...(required.get(visitType) ?? []), category])] };
}
