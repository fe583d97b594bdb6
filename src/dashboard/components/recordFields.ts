import type { CatalogEntry, RecordFields } from '../../domain/records/catalog.ts';
import { qualityWarnings } from '../../domain/records/qualityWarnings.ts';
import type { RecordNames } from '../../modules/records/queries/recordNames.ts';
import type { FieldMessage } from '../../platform/errors.ts';
import { facts } from './facts.ts';
import { fieldLabel } from './fieldLabel.ts';
import { type Html, type HtmlValue, html } from './html.ts';
import { recordPath } from './recordPaths.ts';

/** Returns a field's value for people; `null` means none. */
export function fieldValue(value: unknown): HtmlValue {
  if (value === null || value === undefined) return html`<span class="muted">none</span>`;
  if (value === '') return html`<span class="muted">empty text</span>`;
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  return String(value);
}

interface FieldLinks {
  /** Names of what the record refers to. */
  names?: RecordNames | undefined;
  /** Returns the address of the history of a field, which is dotted inside an insurance; below `/dashboard`. */
  historyPath?(field: string): string;
}

/**
 * Returns a record's fields in the order of the schema, insurances as groups of their own; what it refers to is
 * linked, and what billing is likely to refuse is noted next to the field.
 */
export function recordFields(
  workspace: string,
  entry: CatalogEntry,
  record: RecordFields,
  { names, historyPath }: FieldLinks = {},
): Html {
  const warnings = qualityWarnings(entry, record, record);
  const shown = (field: string, value: unknown) => {
    const reference = entry.references.find((one) => one.field === field);
    const text = fieldValue(value);
    if (reference === undefined) return text;
    const name = names?.nameOf(reference.kind, String(value));
    return html`<a href="/dashboard${recordPath(workspace, reference.kind, String(value))}">${text}</a>${name && html` ${name}`}`;
  };
  const label = (field: string, path: string) =>
    historyPath
      ? html`<a class="quiet-link" href="/dashboard${historyPath(path)}" title="History of this field">${fieldLabel(field)}</a>`
      : fieldLabel(field);
  const list = (fields: [string, unknown][], prefix = '') =>
    facts(
      fields.map(([field, value]) => {
        const name = prefix + field;
        return [label(field, name), html`${shown(name, value)}${remarks(warnings, name)}`];
      }),
    );
  const fields = Object.entries(record);
  const groups = fields.filter(([, value]) => isGroup(value));
  return html`${warningCount(warnings)}
${list(fields.filter(([, value]) => !isGroup(value)))}
${groups.map(
  ([group, inner]) =>
    html`<section class="field-group"><h3>${fieldLabel(group)}</h3>${list(Object.entries(inner as object), `${group}.`)}</section>`,
)}`;
}

function isGroup(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

function warningCount({ length }: FieldMessage[]): Html {
  const text =
    length === 1
      ? 'Billing is likely to refuse one value. It is marked below.'
      : `Billing is likely to refuse ${length} values. They are marked below.`;
  return html`${length > 0 && html`<p class="warning">${text}</p>`}`;
}

function remarks(warnings: FieldMessage[], field: string): Html[] {
  return warnings
    .filter((warning) => warning.field === field)
    .map(({ message }) => html`<small class="warning">Warning: ${message}</small>`);
}
