import type { PrincipalNames } from '../../modules/records/queries/PrincipalNames.ts';
import type { Run } from '../../modules/run.ts';
import { breadcrumb } from '../components/breadcrumb.ts';
import { facts } from '../components/facts.ts';
import { type Html, type HtmlValue, html } from '../components/html.ts';
import { who } from '../components/principal.ts';
import { badge, time } from '../components/text.ts';
import { readinessSection } from '../components/worklistPaths.ts';

const POLL = 'every 2s';

/** Returns the breadcrumb of an analysis's page. */
export function analysisCrumbs(workspace: string): Html {
  return breadcrumb([{ text: readinessSection, path: `/workspaces/${workspace}/readiness` }]);
}

/** A run, with its progress. */
export interface ShownRun {
  run: Run;
  done: number;
  total: number;
  /** Its page. */
  path: string;
  /** What is asked in order to continue an interrupted run; undefined where it starts over. */
  goOn?: Html;
}

/** Returns the status of a run; it refreshes itself where scripts run, until the run has ended. */
export function runStatus({ run, done, total, path, goOn }: ShownRun): Html {
  const { outcome } = run;
  if (outcome === undefined) {
    return html`<div id="run" hx-get="${path}/state" hx-trigger="${POLL}" hx-swap="outerHTML">${progress(done, total, path)}</div>`;
  }
  return html`<div id="run">${outcome !== 'done' && html`<p>${badge('Interrupted', 'bad')} ${whys[outcome]}</p>${goOn}`}</div>`;
}

/** Returns what replaces the status once the run has ended: the findings are on the page. */
export function runEnded(path: string): Html {
  return html`<div id="run"><p role="status">The run has ended. <a href="${path}">Show the result</a></p></div>`;
}

const whys: Record<string, string> = {
  stopped: 'The service stopped.',
  failed: 'A store may have been unavailable; see the service log.',
};

function progress(done: number, total: number, path: string): Html {
  // What is under way is never shown as finished.
  const percent = total === 0 ? 0 : Math.min(99, Math.floor((done / total) * 100));
  const figures = `${done.toLocaleString('en-US')} of ${total.toLocaleString('en-US')} encounters`;
  return html`<p>${badge('In progress', 'neutral')} ${figures}. <a href="${path}">Reload the page</a> to see the progress; with scripts enabled, it updates automatically.</p>
<progress max="100" value="${percent}" aria-label="Progress in encounters"></progress>`;
}

/** Returns who asked for it, when, and for which days of service. */
export function runFacts(
  { asked_by, started_at, ended_at }: Run,
  { from, to }: { from?: string | undefined; to?: string | undefined },
  names: PrincipalNames,
  more: readonly (readonly [HtmlValue, HtmlValue])[],
): Html {
  return facts([
    ['Requested by', who({ ...asked_by, name: names.nameOf(asked_by) ?? null })],
    ['Started', time(started_at)],
    ...(ended_at ? ([['Ended', time(ended_at)]] as const) : []),
    ['Dates of service', from || to ? `${from ?? 'the first'} to ${to ?? 'the last'}` : 'all'],
    ...more,
  ]);
}
