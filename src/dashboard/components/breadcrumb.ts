import { type Html, html } from './html.ts';

export interface Crumb {
  text: string;
  /** Below `/dashboard`. */
  path: string;
}

/** Returns the way to a page: what is above it, outermost first. */
export function breadcrumb(crumbs: readonly Crumb[]): Html {
  return html`<nav class="breadcrumb" aria-label="Breadcrumb"><ol>${crumbs.map(
    ({ text, path }) => html`<li><a href="/dashboard${path}">${text}</a></li>`,
  )}</ol></nav>`;
}
