import { RECORD_ERASED } from '../../domain/events/recordErased.ts';
import type { Page } from '../../modules/records/queries/page.ts';
import type { RecordVersion } from '../../modules/records/queries/recordHistory.ts';
import { changeList } from './changes.ts';
import { type Html, html } from './html.ts';
import { changeCount, origin, outcomeBadge } from './versions.ts';

/** Maximum number of changes shown without expanding them: the fields of a new record would fill the page. */
const MAX_OPEN_CHANGES = 12;

/** What is selected in the two rows of radio buttons. */
interface Chosen {
  from?: number;
  to?: number;
}

/**
 * Returns a page of the versions of a record, newest first, any two of which can be selected for comparison. `path`
 * is the record's address below `/dashboard`, `shown` the version whose state is next to it. Tombstones have no
 * state.
 */
export function timeline(
  workspace: string,
  path: string,
  { items, next_page_token }: Page<RecordVersion>,
  shown?: number,
): Html {
  const [newest, second] = items.filter(hasState);
  const chosen = second && { from: second.version, ...(newest && { to: newest.version }) };
  const list = html`<ol class="timeline">${items.map((version) => item(workspace, path, version, chosen, shown))}${older(path, next_page_token)}</ol>`;
  if (chosen === undefined) return list;
  return html`<form method="get" action="/dashboard${path}/compare" aria-label="Compare two versions">
<p class="actions"><button type="submit" class="outline">Compare selected versions</button></p>
${list}
</form>`;
}

/** Returns more versions for the end of a timeline. */
export function olderVersions(
  workspace: string,
  path: string,
  { items, next_page_token }: Page<RecordVersion>,
): Html {
  return html`${items.map((version) => item(workspace, path, version, {}))}${older(path, next_page_token)}`;
}

function item(
  workspace: string,
  path: string,
  version: RecordVersion,
  chosen: Chosen | undefined,
  shown?: number,
): Html {
  const { version: number, changes } = version;
  const isShown = number === shown;
  const isThere = hasState(version);
  return html`<li class="version">
<div class="version-line">
<h3>${isThere ? html`<a href="/dashboard${path}?version=${number}"${isShown && html` aria-current="true"`}>Version ${number}</a>` : `Version ${number}`}</h3>
${outcomeBadge(version)}
${
  chosen &&
  isThere &&
  html`<span class="version-choice">${choice('from', number, chosen)}${choice('to', number, chosen)}</span>`
}
</div>
${origin(workspace, version)}
${
  changes.length === 0
    ? html`<p class="muted">${changeCount(version)}</p>`
    : html`<details${changes.length <= MAX_OPEN_CHANGES && html` open`}><summary>${changeCount(version)}</summary>${changeList(changes)}</details>`
}
</li>`;
}

function hasState({ type }: RecordVersion): boolean {
  return type !== RECORD_ERASED;
}

function choice(name: 'from' | 'to', version: number, chosen: Chosen): Html {
  return html`<label><input type="radio" name="${name}" value="${version}" aria-label="${name} version ${version}"${
    chosen[name] === version && html` checked`
  }>${name}</label>`;
}

function older(path: string, token: string | null): Html {
  const address = `/dashboard${path}?page_token=${encodeURIComponent(token ?? '')}`;
  return html`${
    token &&
    html`<li><a href="${address}#timeline" hx-get="${address}" hx-target="closest li" hx-swap="outerHTML">Older versions</a></li>`
  }`;
}
