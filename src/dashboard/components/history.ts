import type { FieldChange } from '../../domain/records/fold.ts';
import type { RecordVersion, VersionEntry } from '../../modules/records/queries/history.ts';
import { fieldLabel } from './labels.ts';
import { type Html, type HtmlValue, html } from './page.ts';
import { who } from './people.ts';
import { fieldValue } from './records.ts';
import { badge, bdi, code, time } from './text.ts';
import { messagePath } from './urls.ts';

/** Returns what happened to a field. */
export function changeWord({ from, to }: FieldChange): 'added' | 'removed' | 'changed' {
  if (from === null) return 'added';
  return to === null ? 'removed' : 'changed';
}

/** Returns the value of a field for people. */
export type ShownValue = (value: unknown, field: string) => HtmlValue;

/** Returns differences field by field: what happened to it, from what, to what. */
export function changeList(changes: readonly FieldChange[], shown?: ShownValue): Html {
  return html`<dl class="changes">${changes.map((change) => {
    return html`<div><dt>${fieldLabel(change.field)} <span class="change-word">${changeWord(change)}</span></dt>
<dd>${changed(change, shown)}</dd></div>`;
  })}</dl>`;
}

/** Returns what a field was, and what it became. */
export function changed(change: FieldChange, shown: ShownValue = fieldValue): Html {
  const word = changeWord(change);
  const { field, from, to } = change;
  return html`${word !== 'added' && html`<del>${shown(from, field)}</del>`}${
    word === 'changed' && html` <span aria-hidden="true">→</span><span class="visually-hidden">became</span> `
  }${word !== 'removed' && html`<ins>${shown(to, field)}</ins>`}`;
}

/**
 * Returns when, by whom, from where, in which request and by which message a version was created; for an erasure also
 * why.
 */
export function origin(workspace: string, version: VersionEntry): Html {
  const { recorded_at, principal, reason } = version;
  return html`<p class="origin">${time(recorded_at)} by ${who(principal)}<br>
<span class="muted">${originNote(workspace, version)}</span>${reason !== undefined && html`<br>Reason: ${bdi(reason)}`}</p>`;
}

/** Returns from where, in which request and by which message a version was created. */
export function originNote(workspace: string, { client_ip, request_id, source }: VersionEntry): Html {
  const message =
    source &&
    html`, <a href="/dashboard${messagePath(workspace, source.message)}">message ${code(source.message)}</a> of source ${code(source.id)}`;
  return html`${client_ip !== null && html`from ${code(client_ip)}, `}request ${code(request_id)}${message}`;
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
export function printedVersion(workspace: string, version: RecordVersion, shown: ShownValue): Html {
  return html`<section class="version">
<h3>Version ${version.version} ${outcomeBadge(version)}</h3>
${origin(workspace, version)}
${version.changes.length > 0 ? changeList(version.changes, shown) : html`<p>${changeCount(version)}</p>`}
</section>`;
}
