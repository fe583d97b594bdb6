import { RECORD_ERASED } from '../../domain/events/payloads.ts';
import type { FieldChange } from '../../domain/records/fold.ts';
import type { RecordVersion, VersionEntry } from '../../modules/records/queries/history.ts';
import type { Page } from '../../modules/records/queries/paging.ts';
import { type Html, html } from './page.ts';
import { who } from './people.ts';
import { fieldValue } from './records.ts';
import { badge, code, fieldLabel, time } from './text.ts';
import { messagePath } from './urls.ts';

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

/**
 * Returns when, by whom, from where, in which request and by which message a version was created; for an erasure also
 * why.
 */
export function origin(
  workspace: string,
  { recorded_at, principal, client_ip, request_id, source, reason }: VersionEntry,
): Html {
  const message =
    source &&
    html`, <a href="/dashboard${messagePath(workspace, source.message)}">message ${code(source.message)}</a> of source ${code(source.id)}`;
  return html`<p class="origin">${time(recorded_at)} by ${who(principal)}<br>
<span class="muted">${client_ip !== null && html`from ${code(client_ip)}, `}request ${code(request_id)}${message}</span>${reason !== undefined && html`<br>Reason: ${reason}`}</p>`;
}

const tones = { created: 'good', updated: 'neutral', unchanged: 'neutral', erased: 'bad' } as const;

/** Returns what a version did. */
export function outcomeBadge({ outcome }: RecordVersion): Html {
  return badge(outcome, tones[outcome]);
}

/** Returns how much a version changed. */
export function changeCount({ outcome, changes: { length } }: RecordVersion): string {
  if (outcome === 'erased') return 'All earlier versions were permanently erased';
  if (length === 0) return 'No field changed';
  return `${length} ${length === 1 ? 'field' : 'fields'} ${outcome === 'created' ? 'set' : 'changed'}`;
}

/** Returns a version with everything that it changed, for paper. */
export function printedVersion(workspace: string, version: RecordVersion): Html {
  return html`<section class="version">
<h3>Version ${version.version} ${outcomeBadge(version)}</h3>
${origin(workspace, version)}
${version.changes.length > 0 ? changeList(version.changes) : html`<p>${changeCount(version)}</p>`}
</section>`;
}

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
