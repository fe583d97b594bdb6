import type { FieldMessage } from '../../platform/errors.ts';
import { type Html, type HtmlValue, html } from './html.ts';
import { presentReader } from './reader.ts';
import { valuesOf } from './sentForm.ts';

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
  autocomplete?: string;
  placeholder?: string;
  min?: number;
  /** Step between the allowed values; for a time, in seconds. */
  step?: number;
}

/** Returns the message about a field, if there is one. */
export function messageOf(details: readonly FieldMessage[] | undefined, field: string): string | undefined {
  return details?.find((detail) => detail.field === field)?.message;
}

/** Returns what the reader typed into fields with that name earlier; undefined: nothing. */
function typedInto(name: string): string[] | undefined {
  const { typed } = presentReader();
  return typed?.[name] === undefined ? undefined : valuesOf(typed, name);
}

/** Returns a single-line input with its label, hint and message. */
export function input(field: InputField): Html {
  const { name, label, type = 'text', isRequired, autocomplete, placeholder, min, step } = field;
  const value = (type === 'password' ? undefined : typedInto(name)?.[0]) ?? field.value ?? '';
  return html`<div class="field">
<label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" value="${value}"${isRequired && html` required`}${
    autocomplete && html` autocomplete="${autocomplete}"`
  }${placeholder && html` placeholder="${placeholder}"`}${min !== undefined && html` min="${min}"`}${
    step !== undefined && html` step="${step}"`
  }${describedBy(field)}>
${notes(field)}
</div>`;
}

/** Returns a multi-line input, for text without spelling correction. */
export function textArea(field: Field & { rows: number }): Html {
  const { name, label, rows } = field;
  return html`<div class="field">
<label for="${name}">${label}</label>
<textarea id="${name}" name="${name}" rows="${rows}" spellcheck="false" autocomplete="off"${describedBy(field)}>${typedInto(name)?.[0] ?? field.value ?? ''}</textarea>
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
  const { typed } = presentReader();
  // A form in which no box is ticked is sent without the name.
  const ticked = typed && valuesOf(typed, name);
  return html`<fieldset>
<legend>${legend}</legend>
${choices.map(
  ({ value, text, hint, isChecked }) =>
    html`<label><input type="checkbox" name="${name}" value="${value}"${(ticked?.includes(value) ?? isChecked) && html` checked`}> ${text}${
      hint && html` <small class="muted">${hint}</small>`
    }</label>`,
)}
${error && html`<small class="error">${error}</small>`}
</fieldset>`;
}

/**
 * Returns what is wrong with a form as a whole. The first of everything marked as wrong has the focus when the page
 * is loaded.
 */
export function formError(text: string | undefined): Html {
  return html`${text && html`<p class="error" role="alert" tabindex="-1" autofocus>${text}</p>`}`;
}

function describedBy({ name, hint, error }: Field): Html {
  const ids = [error && `${name}-error`, hint && `${name}-hint`].filter(Boolean).join(' ');
  return html`${error && html` aria-invalid="true" autofocus`}${ids && html` aria-describedby="${ids}"`}`;
}

function notes({ name, hint, error }: Field): Html {
  return html`${error && html`<small class="error" id="${name}-error">${error}</small>`}${
    hint && html`<small id="${name}-hint">${hint}</small>`
  }`;
}
