import type { WorklistProgress } from '../../modules/readiness/readWorklist.ts';
import { type Html, html } from '../components/html.ts';
import { recordPath } from '../components/recordPaths.ts';

/** What changed where that is not a record. */
const ofAll: Record<string, string> = {
  workspace: 'A change to the rule settings',
  code_set: 'A newly loaded code set',
};

/**
 * Returns a note on how up to date a worklist is that is not current, with the address for reloading the page;
 * nothing for one that is.
 */
export function progressNote(
  workspace: string,
  { isCurrent, underWay }: WorklistProgress,
  address: string,
): Html | undefined {
  if (isCurrent) return undefined;
  const lines = underWay.map(({ kind, id, done, total }) => {
    const what =
      ofAll[kind] ??
      html`A change to the ${kind} <a href="/dashboard${recordPath(workspace, kind, id)}">${id}</a>`;
    return html`<li>${what} is being applied: ${figure(done)} of ${figure(total)} encounters.</li>`;
  });
  return html`<div class="banner"><p>This list is not up to date yet. Nothing is lost. <a href="${address}">Reload</a></p>
${lines.length > 0 && html`<ul>${lines}</ul>`}</div>`;
}

function figure(count: number): string {
  return count.toLocaleString('en-US');
}
