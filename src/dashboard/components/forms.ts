import { raw } from 'hono/html';
import type { Caller } from '../../domain/events/newEvent.ts';
import {
  type DisclosureTerms,
  type NullableTerms,
  type Purpose,
  purposes,
  termsOf,
} from '../../domain/events/payloads.ts';
import { parseTerms, withTerms } from '../../modules/audit/disclosureTerms.ts';
import type { Role } from '../../modules/auth/users.ts';
import { type FieldMessage, invalidField } from '../../platform/errors.ts';
import { fieldLabel } from './labels.ts';
import { searchPath } from './layout.ts';
import {
  admins,
  type DashboardRoute,
  forReader,
  type Html,
  type HtmlValue,
  html,
  type Page,
  passwordOf,
  problemOf,
  type Refusal,
  type Reply,
  textOf,
  type Visit,
  valuesOf,
  viewerPreferences,
} from './page.ts';
import { bdi } from './text.ts';

interface Field {
  name: string;
  label: string;
  value?: string | undefined;
  /** Shown below the field. */
  hint?: HtmlValue;
  /** What is wrong with the value. */
  error?: string | undefined;
}

export interface InputField extends Field {
  type?: 'text' | 'password' | 'email' | 'url' | 'number' | 'datetime-local' | 'search' | 'date';
  isRequired?: boolean;
  /** Whether people type into it first, unless something is wrong. */
  hasFocus?: boolean;
  autocomplete?: string;
  placeholder?: string;
  min?: number;
  /** Step between the allowed values; for a time, in seconds. */
  step?: number;
  /** Values that are offered, with what people call them. */
  suggestions?: readonly { value: string; text: string }[] | undefined;
}

/** Returns the message about a field, or about an item of the list in it, if there is one. */
export function messageOf(details: readonly FieldMessage[] = [], field: string): string | undefined {
  for (const { field: named, message } of details) {
    if (named === field) return message;
    const item = named.startsWith(`${field}.`) ? named.slice(field.length + 1) : '';
    if (/^\d+$/.test(item)) return `item ${Number(item) + 1} ${message}`;
  }
  return undefined;
}

/** Returns what the reader typed into fields with that name earlier; undefined: nothing. */
function typedInto(name: string): string[] | undefined {
  const { typed } = viewerPreferences();
  return typed?.[name] === undefined ? undefined : valuesOf(typed, name);
}

/** Returns a single-line input with its label, hint and message. */
export function input(field: InputField): Html {
  const {
    name,
    label,
    type = 'text',
    isRequired,
    hasFocus,
    autocomplete,
    placeholder,
    min,
    step,
    suggestions,
  } = field;
  const value = (type === 'password' ? undefined : typedInto(name)?.[0]) ?? field.value ?? '';
  return html`<div class="field">
<label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" value="${value}"${isRequired && html` required`}${hasFocus && html` autofocus`}${
    autocomplete && html` autocomplete="${autocomplete}"`
  }${placeholder && html` placeholder="${placeholder}"`}${min !== undefined && html` min="${min}"`}${
    step !== undefined && html` step="${step}"`
  }${suggestions && html` list="${name}-list"`}${describedBy(field)}>
${suggestions && html`<datalist id="${name}-list">${suggestions.map((one) => html`<option value="${one.value}">${one.text}</option>`)}</datalist>`}${notes(field)}
</div>`;
}

/** Returns a multi-line input, for text without spelling correction; `isMessage`: for a message as it is sent. */
export function textArea(field: Field & { rows: number; isMessage?: boolean }): Html {
  const { name, label, rows, isMessage = false } = field;
  return html`<div class="field">
<label for="${name}">${label}</label>
<textarea id="${name}" name="${name}" rows="${rows}" spellcheck="false" autocomplete="off"${isMessage && html` class="message-text"`}${describedBy(field)}>${typedInto(name)?.[0] ?? field.value ?? ''}</textarea>
${notes(field)}
</div>`;
}

interface SelectField extends Field {
  options: readonly { value: string; text: string }[];
}

/** Returns a choice of one. */
export function select(field: SelectField): Html {
  const { name, label, options } = field;
  const value = typedInto(name)?.[0] ?? field.value;
  return html`<div class="field">
<label for="${name}">${label}</label>
<select id="${name}" name="${name}"${describedBy(field)}>${options.map(
    (option) =>
      html`<option value="${option.value}"${option.value === value && html` selected`}>${option.text}</option>`,
  )}</select>
${notes(field)}
</div>`;
}

interface Choice {
  value: string;
  text: string;
  hint?: string;
  isChecked?: boolean;
}

/** Returns a choice of any number: check boxes under one name. */
export function checkboxes(name: string, legend: string, choices: readonly Choice[], error?: string): Html {
  const { typed } = viewerPreferences();
  // A form in which no box is ticked is sent without the name.
  const ticked = typed && valuesOf(typed, name);
  return html`<fieldset${error && html` aria-describedby="${name}-error"`}>
<legend>${legend}</legend>
${choices.map(
  ({ value, text, hint, isChecked }, at) =>
    html`<label><input type="checkbox"${at === 0 && html` id="${name}"`} name="${name}" value="${value}"${(ticked?.includes(value) ?? isChecked) && html` checked`}> ${text}${
      hint && html` <small class="muted">${hint}</small>`
    }</label>`,
)}
${fieldError({ name, label: legend, error })}
</fieldset>`;
}

/** Stands in a page for the summary of what is wrong, until the fields after it are known. */
const SUMMARY = '<!--error summary-->';

/**
 * Returns the place of the summary of what is wrong with a form, before its fields: `withErrorSummary` fills it. It has
 * the focus when the page is loaded.
 */
export function formError(refusal: Omit<Refusal, 'status'> | string | undefined): Html {
  const { errors } = viewerPreferences();
  if (refusal === undefined || errors === undefined) return html``;
  errors.refusal = typeof refusal === 'string' ? { text: refusal, details: [] } : refusal;
  return raw(SUMMARY) as Html;
}

/**
 * Returns a page with the summary of what is wrong with its form: each marked field is named once, as the form names it, and
 * linked; what is wrong with none of them follows.
 */
export function withErrorSummary(page: Html): Html {
  const { refusal, fields } = viewerPreferences().errors ?? { fields: [] };
  const parts = String(page).split(SUMMARY);
  if (refusal === undefined || parts.length === 1) return page;
  const { text, details } = refusal;
  const isOf = (name: string) => details.some(({ field }) => field === name);
  // A form may have another name for a field, or several problems in one.
  const renamed = fields.filter(({ id }) => !isOf(id));
  const others = details.filter(
    ({ field, message }) =>
      !fields.some(({ id }) => id === field) && !renamed.some((one) => one.message.includes(message)),
  );
  const lines = [
    ...fields.map(({ id, label, message }) => html`<li><a href="#${id}">${named(label, message)}</a></li>`),
    ...others.map(({ field, message }) => html`<li>${named(fieldLabel(field), message)}</li>`),
  ];
  const summary = html`<div class="error-summary" role="alert" tabindex="-1" autofocus>
<h2>There is a problem</h2>
${text && html`<p>${text}</p>`}
${lines.length > 0 && html`<ul>${lines}</ul>`}
</div>`;
  const [before = '', ...after] = parts;
  return raw(`${before}${summary}${after.join('')}`) as Html;
}

/** Returns a message that says which field it is about; one that is a sentence already does. */
function named(label: string, message: string): string {
  return sentence(/^[\p{Lu}"]/u.test(message) ? message : `${label} ${message}`);
}

/** Returns a message as a sentence. */
function sentence(message: string): string {
  const text = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.?!]$/.test(text) ? text : `${text}.`;
}

/** Returns what is wrong with a field, below it; it is in the summary as well. */
function fieldError({ name, label, error }: Field): Html {
  if (error) viewerPreferences().errors?.fields.push({ id: name, label, message: error });
  return html`${error && html`<small class="error" id="${name}-error">${sentence(error)}</small>`}`;
}

function describedBy({ name, hint, error }: Field): Html {
  const ids = [error && `${name}-error`, hint && `${name}-hint`].filter(Boolean).join(' ');
  return html`${error && html` aria-invalid="true"`}${ids && html` aria-describedby="${ids}"`}`;
}

function notes(field: Field): Html {
  const { name, hint } = field;
  return html`${fieldError(field)}${hint && html`<small id="${name}-hint">${hint}</small>`}`;
}

/** Returns the search form, filled in with what was sent. */
export function searchForm({ workspace, csrf }: Visit, text = '', refusal?: Refusal): Html {
  return html`${formError(refusal)}<form method="post" action="/dashboard${searchPath(workspace)}" class="find" aria-label="Search">
${csrf}
${input({
  ...{ name: 'q', label: 'Search for', type: 'search', value: text, autocomplete: 'off' },
  error: messageOf(refusal?.details, 'q'),
  hint: 'Names, dates of birth, phone numbers, email addresses, IDs and parts of them, NPIs, policy numbers, file names; IDs of refused requests, control IDs of messages.',
})}
<button type="submit">Search</button>
</form>`;
}

/** Returns the field for the code of an authenticator app. */
export function codeField({
  name = 'code',
  ...field
}: Pick<InputField, 'hint' | 'error' | 'hasFocus'> & { name?: string }): Html {
  return input({ name, label: 'Code', isRequired: true, autocomplete: 'one-time-code', ...field });
}

export interface Confirmation {
  /** The question, which names what is changed. */
  title: string;
  /** The name in the title that somebody gave to what is changed. */
  name?: string;
  section: string;
  /** The way to the page. */
  breadcrumb?: Html;
  /** What will happen. */
  text: HtmlValue;
  /** The fields of the answer, besides the button. */
  fields?: Html | undefined;
  /** Undefined where the change cannot be made. */
  button: string | undefined;
  isDangerous?: boolean | undefined;
  /** Where declining leads to: a path below `/dashboard`. */
  back: string;
}

/** A change that is confirmed before it is made. */
interface ConfirmedChange<Subject> {
  path: string;
  /** Who may make it; default: administrators. */
  roles?: readonly Role[];
  isInstallationWide?: boolean;
  /** Returns what is changed, as named by the path. */
  find(visit: Visit): Subject | Promise<Subject>;
  /** `details`: what was wrong with the previous answer. */
  question(
    subject: Subject,
    visit: Visit,
    details?: readonly FieldMessage[],
  ): Confirmation | Promise<Confirmation>;
  make(subject: Subject, visit: Visit): Promise<Reply>;
}

/** The confirmation page and its action, which makes the change, or asks once more and says why it was not made. */
export function confirmedChange<Subject>(change: ConfirmedChange<Subject>): DashboardRoute[] {
  const { path, roles = admins, isInstallationWide, find, question, make } = change;
  return [
    {
      method: 'get',
      path,
      roles,
      isInstallationWide,
      handle: async (visit) => ({ page: questionPage(await question(await find(visit), visit), visit) }),
    },
    {
      method: 'post',
      path,
      roles,
      isInstallationWide,
      async handle(visit) {
        const subject = await find(visit);
        try {
          return await make(subject, visit);
        } catch (error) {
          const refusal = problemOf(error);
          // What was answered stays in the fields.
          const asked = await forReader({ ...viewerPreferences(), typed: visit.form }, () =>
            question(subject, visit, refusal.details),
          );
          return { page: { ...questionPage(asked, visit, refusal), status: refusal.status } };
        }
      },
    },
  ];
}

/** Its form is sent to the address of the page. */
function questionPage(asked: Confirmation, { csrf }: Visit, refusal?: Refusal): Page {
  const { title, name, section, breadcrumb, text, fields, button, isDangerous, back } = asked;
  return {
    title,
    section,
    body: html`${breadcrumb}
<h1>${withName(title, name)}</h1>
<p>${text}</p>
${formError(refusal)}
<form method="post">${csrf}
${fields}
<div class="actions">${button && html`<button type="submit"${isDangerous && html` class="danger"`}>${button}</button>`}
<a role="button" class="outline secondary" href="/dashboard${back}">Cancel</a></div>
</form>`,
  };
}

/** Returns a text in which a name runs in its own direction. */
function withName(text: string, name: string | undefined): HtmlValue {
  if (name === undefined) return text;
  const at = text.lastIndexOf(name);
  return html`${text.slice(0, at)}${bdi(name)}${text.slice(at + name.length)}`;
}

const durations = [
  { value: '0', text: 'now' },
  { value: '3600', text: 'in 1 hour' },
  { value: '86400', text: 'in 24 hours' },
  { value: '604800', text: 'in 7 days' },
  { value: '2592000', text: 'in 30 days' },
];

/** Returns when something may end, for a choice whose values are seconds. */
export function expiryOptions(maxSeconds: number) {
  return durations.filter(({ value }) => Number(value) <= maxSeconds);
}

interface FilterForm {
  /** The list's, which shows everything without a query. */
  path: string;
  /** The form is sent in the body, to the path without its query: for what must not be in an address. */
  csrf?: Html;
  fields: Html;
  /** What limits the list now, by the names of the fields. */
  limits: Readonly<Record<string, unknown>>;
  /** Closed at first on a desktop as well, not only on a phone. */
  isFolded?: boolean;
  /** It is to be filled in first. */
  isOpen?: boolean;
  /** What was wrong with what was sent. */
  refusal?: Refusal | undefined;
}

/** Returns the form above a list that filters it, below what was wrong with it. Where it is closed, its button has the number of limits. */
export function filterForm({
  path,
  csrf,
  fields,
  limits,
  isFolded = false,
  isOpen,
  refusal,
}: FilterForm): Html {
  const count = Object.values(limits).filter((value) => value !== undefined && value !== '').length;
  return html`${formError(refusal)}<details class="filters no-print${isFolded && ' folded'}"${(isOpen || refusal) && html` open`}><summary role="button" class="outline secondary">Filter${count > 0 && ` (${count})`}</summary>
<form method="${csrf ? 'post' : 'get'}" action="${csrf ? path.split('?', 1)[0] : path}">${csrf}
<div class="filter-fields">
${fields}
</div>
<div class="actions"><button type="submit">Show</button>
<a role="button" class="outline secondary" href="${path}">Clear</a></div>
</form></details>`;
}

/** Returns two fields for choosing a password; what was typed before is never shown again. */
export function newPasswordFields(refusal: Refusal | undefined, label = 'Password'): Html {
  const field = { type: 'password', isRequired: true, autocomplete: 'new-password' } as const;
  return html`${input({
    ...field,
    name: 'password',
    label,
    hint: 'At least 12 characters. A few unrelated words are easy to remember and hard to guess.',
    error: messageOf(refusal?.details, 'password'),
  })}
${input({ ...field, name: 'again', label: 'Confirm password', error: messageOf(refusal?.details, 'again') })}`;
}

/** Returns the password in those two fields; throws `validation_failed` when they differ. */
export function repeatedPassword(form: Visit['form']): string {
  const password = passwordOf(form, 'password');
  if (password === passwordOf(form, 'again')) return password;
  throw invalidField('again', 'The passwords do not match.');
}

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
  return html`${recipient ? bdi(recipient) : 'recipient not given'} <small class="muted">${purpose ? purposeTexts[purpose] : 'purpose not given'}</small>`;
}

/**
 * Returns the fields that ask to whom data are sent and why, with what was entered before, and what was wrong with
 * it.
 */
export function termFields(terms: NullableTerms = {}, details?: readonly FieldMessage[]): Html {
  const line = (name: 'recipient' | 'recipient_address', label: string, hint: string) =>
    input({
      ...{ name, label, hint, autocomplete: 'off' },
      value: terms[name] ?? '',
      error: messageOf(details, name),
    });
  return html`<fieldset>
<legend>Who receives data, and why</legend>
${line('recipient', 'Recipient', 'The organization or person. Disclosure reports name it.')}
${line('recipient_address', 'Recipient address', 'If known.')}
${purposeFields(terms, details)}
</fieldset>`;
}

/** Returns the fields of these that ask why. */
export function purposeFields(terms: NullableTerms, details?: readonly FieldMessage[]): Html {
  return html`${select({
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
${input({
  ...{ name: 'purpose_statement', label: 'Purpose statement', autocomplete: 'off' },
  hint: 'The basis in one sentence, for the patient. Required for purpose Other.',
  value: terms.purpose_statement ?? '',
  error: messageOf(details, 'purpose_statement'),
})}`;
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
  return { caller: withTerms(caller, terms), terms };
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
