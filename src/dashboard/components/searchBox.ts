import { type Html, html } from './html.ts';

/** Returns the address of a workspace's search, below `/dashboard`; of one search where its number is given. */
export function searchPath(workspace: string, number?: number): string {
  return `/workspaces/${workspace}/search${number === undefined ? '' : `?n=${number}`}`;
}

/** Returns the box on every page. What is typed is sent in the body: no name is in an address. */
export function searchBox(workspace: string, csrf: Html): Html {
  return html`<form method="post" action="/dashboard${searchPath(workspace)}" class="search-box" role="search">
${csrf}
<label class="visually-hidden" for="search-box">Search this workspace</label>
<input id="search-box" name="q" type="search" maxlength="200" placeholder="Search (press /)" autocomplete="off" data-focus-key="/">
</form>`;
}
