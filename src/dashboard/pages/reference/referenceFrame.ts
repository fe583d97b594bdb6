import { breadcrumb } from '../../components/breadcrumb.ts';
import { input } from '../../components/formFields.ts';
import { type Html, type HtmlValue, html } from '../../components/html.ts';
import { referencePath } from '../../components/referencePaths.ts';
import type { Page } from '../../components/route.ts';
import type { Group } from './outline.ts';

/** The menu's entry. */
export const referenceSection = 'API reference';

/**
 * Returns a page of the reference next to its contents; `current` is the id of the entry or the group to which it
 * belongs.
 */
export function referenceFrame(
  outline: readonly Group[],
  current: string,
  title: string,
  body: HtmlValue,
): Page {
  return {
    title,
    section: referenceSection,
    body: html`${breadcrumb([{ text: referenceSection, path: '/reference' }])}
<h1>${title}</h1>
<div class="reference">
<div class="contents">
${searchForm('')}
${contents(outline, current)}
</div>
<div>${body}</div>
</div>`,
  };
}

/**
 * Returns the form that searches the reference. The search text says nothing about anybody, so it may be in the
 * address.
 */
export function searchForm(text: string): Html {
  return html`<form method="get" action="${referencePath}" class="find" aria-label="API reference">
${input({ name: 'q', label: 'Search the reference', type: 'search', value: text, autocomplete: 'off' })}
<button type="submit">Search</button>
</form>`;
}

function contents(outline: readonly Group[], current: string): Html {
  return html`<nav aria-label="API reference"><ul>${outline.map(({ id, title, entries }) => {
    const isOpen = id === current || entries.some((entry) => entry.id === current);
    return html`<li><a href="${referencePath}#${id}"${id === current && html` aria-current="page"`}>${title}</a>${
      isOpen &&
      html`<ul>${entries.map(
        (entry) =>
          html`<li><a href="${entry.path}"${entry.id === current && html` aria-current="page"`}>${entry.title}</a></li>`,
      )}</ul>`
    }</li>`;
  })}</ul></nav>`;
}
