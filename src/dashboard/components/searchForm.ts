import { scopeKinds } from '../../modules/auth/permissions.ts';
import { fieldLabel } from './fieldLabel.ts';
import { input, select } from './formFields.ts';
import { type Html, html } from './html.ts';
import type { Visit } from './route.ts';
import { searchPath } from './searchBox.ts';

/** Returns the search form, filled in with what was sent; `problem` is what is wrong with its text. */
export function searchForm({ workspace, csrf }: Visit, text = '', kind = '', problem?: string): Html {
  const kinds = scopeKinds.map((value) => ({ value, text: fieldLabel(value) }));
  return html`<form method="post" action="/dashboard${searchPath(workspace)}" class="find" aria-label="Search">
${csrf}
${input({
  ...{ name: 'q', label: 'Search for', type: 'search', value: text, error: problem, autocomplete: 'off' },
  hint: 'Names, dates of birth, IDs and parts of them, NPIs, policy numbers, file names, IDs of refused requests.',
})}
${select({ name: 'kind', label: 'Kind', value: kind, options: [{ value: '', text: 'Any kind' }, ...kinds] })}
<button type="submit">Search</button>
</form>`;
}
