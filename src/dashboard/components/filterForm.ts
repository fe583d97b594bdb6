import { type Html, html } from './html.ts';

/** Returns the form above a list that filters it; `path` is the list's, which shows everything without it. */
export function filterForm(path: string, fields: Html): Html {
  return html`<form method="get" action="${path}">
<div class="filter-fields">
${fields}
</div>
<div class="actions"><button type="submit">Show</button>
<a role="button" class="outline secondary" href="${path}">Clear</a></div>
</form>`;
}
