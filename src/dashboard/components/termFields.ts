import {
  type DisclosureTerms,
  type NullableTerms,
  type Purpose,
  purposes,
  type termNames,
  termsOf,
} from '../../domain/events/disclosureTerms.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { parseTerms } from '../../modules/audit/disclosureTermsSchema.ts';
import type { FieldMessage } from '../../platform/errors.ts';
import { input, messageOf, select } from './formFields.ts';
import { type Html, type HtmlValue, html } from './html.ts';
import type { Visit } from './route.ts';
import { textOf } from './sentForm.ts';

/** Purposes as shown to people. */
export const purposeTexts: Record<Purpose, string> = {
  treatment: 'Treatment',
  payment: 'Payment',
  operations: 'Health care operations',
  other: 'Other',
};

/** Returns to whom data are sent and why, for a table cell. */
export function termsText({ recipient, purpose }: NullableTerms = {}): HtmlValue {
  if (!recipient && !purpose) return html`<span class="muted">not given</span>`;
  return html`${recipient ?? 'recipient not given'}<br><small class="muted">${purpose ? purposeTexts[purpose] : 'purpose not given'}</small>`;
}

/**
 * Returns the fields that ask to whom data are sent and why, with what was entered before, and what was wrong with
 * it.
 */
export function termFields(terms: NullableTerms = {}, details?: readonly FieldMessage[]): Html {
  const line = (name: (typeof termNames)[number], label: string, hint: string) =>
    input({
      ...{ name, label, hint, autocomplete: 'off' },
      value: terms[name] ?? '',
      error: messageOf(details, name),
    });
  return html`<fieldset>
<legend>Who receives data, and why</legend>
${line('recipient', 'Recipient', 'The organization or person. Disclosure reports name it.')}
${line('recipient_address', 'Recipient address', 'If known.')}
${select({
  name: 'purpose',
  label: 'Purpose',
  value: terms.purpose ?? '',
  options: [
    { value: '', text: 'Not given' },
    ...purposes.map((value) => ({ value, text: purposeTexts[value] })),
  ],
  hint: 'An accounting of disclosures (45 CFR 164.528) marks treatment, payment and operations as exempt.',
  error: messageOf(details, 'purpose'),
})}
${line('purpose_statement', 'Purpose statement', 'The basis in one sentence, for the patient. Required for purpose Other.')}
</fieldset>`;
}

/**
 * Returns a form, omitted on paper, that asks who receives a page or file that is handed out; it is sent to `action`,
 * with additional `fields`.
 */
export function handedOutForm(
  { csrf }: Visit,
  action: string,
  button: string,
  terms?: NullableTerms,
  fields?: Html,
): Html {
  return html`<details class="no-print"><summary>For a recipient outside the organization</summary>
<form method="post" action="${action}">${csrf}
${fields}
${termFields(terms)}
<div class="actions"><button type="submit" class="outline">${button}</button></div>
</form></details>`;
}

/**
 * Returns who receives what a request asks for, according to the form that was sent, with the terms for the audit
 * trail; never according to an address, which may be a link on another site. Throws `validation_failed`.
 */
export function handedOut({ caller, form }: Visit): { caller: Caller; terms: DisclosureTerms | undefined } {
  const terms = termsOf(parseTerms(termsSent(form)));
  return { caller: { ...caller, disclosedTo: terms }, terms };
}

/** Returns what these fields were sent with, unchecked; an empty one removes a term. */
export function termsSent(form: Visit['form']): NullableTerms {
  const value = (name: string) => textOf(form, name) || null;
  return {
    recipient: value('recipient'),
    recipient_address: value('recipient_address'),
    purpose: value('purpose') as Purpose | null,
    purpose_statement: value('purpose_statement'),
  };
}
