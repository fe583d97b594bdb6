import type { RecordVersion } from '../../modules/records/queries/recordHistory.ts';
import type { VersionEntry } from '../../modules/records/queries/versionPage.ts';
import { changeList } from './changes.ts';
import { type Html, html } from './html.ts';
import { messagePath } from './messagePaths.ts';
import { who } from './principal.ts';
import { badge, code, time } from './text.ts';

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
