import type { Total } from '../../modules/records/queries/total.ts';
import { type Html, html } from './html.ts';

/** Returns how many items a list has, named in the singular or the plural; nothing where that is not known. */
export function total(known: Total | undefined, one: string, many: string): Html {
  if (known === undefined) return html``;
  const { count, isMore } = known;
  return html`<p class="muted">${count.toLocaleString('en-US')}${isMore && '+'} ${count === 1 ? one : many}</p>`;
}
