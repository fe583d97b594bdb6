import type { FieldChange } from '../../domain/records/diff.ts';
import { fieldLabel } from './fieldLabel.ts';
import { type Html, html } from './html.ts';
import { fieldValue } from './recordFields.ts';

/** Returns what happened to a field. */
export function changeWord({ from, to }: FieldChange): 'added' | 'removed' | 'changed' {
  if (from === null) return 'added';
  return to === null ? 'removed' : 'changed';
}

/** Returns the previous value. */
export function before(value: unknown): Html {
  return html`<del>${fieldValue(value)}</del>`;
}

/** Returns the present value. */
export function after(value: unknown): Html {
  return html`<ins>${fieldValue(value)}</ins>`;
}

/** Returns differences field by field: what happened to it, from what, to what. */
export function changeList(changes: readonly FieldChange[]): Html {
  return html`<dl class="changes">${changes.map((change) => {
    const { field, from, to } = change;
    const word = changeWord(change);
    return html`<div><dt>${fieldLabel(field)} <span class="change-word">${word}</span></dt>
<dd>${word !== 'added' && before(from)}${
      word === 'changed' &&
      html` <span aria-hidden="true">→</span><span class="visually-hidden">became</span> `
    }${word !== 'removed' && after(to)}</dd></div>`;
  })}</dl>`;
}
