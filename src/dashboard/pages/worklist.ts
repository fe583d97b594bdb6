import { worklistAccesses } from '../../modules/audit/readinessAccesses.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { readWorklist, type Worklist } from '../../modules/readiness/readWorklist.ts';
import { shownCounts } from '../../modules/readiness/shownCounts.ts';
import { isEmpty } from '../../modules/readiness/tally.ts';
import type { QueryPorts } from '../../modules/records/queries/readRecord.ts';
import { scorecardPath, simulationPath } from '../components/analysisPaths.ts';
import { formError } from '../components/formFields.ts';
import { type Html, html } from '../components/html.ts';
import { type DashboardRoute, type Page, recordReaders, type Visit } from '../components/route.ts';
import { refusalOf } from '../components/sentForm.ts';
import { code, empty } from '../components/text.ts';
import { readinessSection, worklistPath } from '../components/worklistPaths.ts';
import { exportWorklist } from './exportWorklist.ts';
import { progressNote } from './progressNote.ts';
import { readNames } from './records/referredNames.ts';
import { trendChart } from './trendChart.ts';
import { monthChart, ruleChart, stateTabs } from './worklistCharts.ts';
import { worklistForm } from './worklistForm.ts';
import { sentLimits, type WorklistQuery, worklistParameters, worklistQuery } from './worklistQuery.ts';
import { namedRecords, worklistTable } from './worklistTable.ts';

const ENCOUNTERS_A_PAGE = 50;

/** `…/readiness`: the encounters of a workspace by what is in the way of billing them; pages, and an export. */
export function worklistRoutes(ports: QueryPorts): DashboardRoute[] {
  const path = '/workspaces/:workspace/readiness';
  const query = worklistParameters;
  return [
    {
      ...{ method: 'get', path, roles: recordReaders, query },
      handle: async (visit) => ({ page: await worklistPage(ports, visit) }),
    },
    {
      ...{ method: 'get', path: `${path}/export`, roles: recordReaders, query },
      handle: (visit) => exportWorklist(ports, visit),
    },
  ];
}

async function worklistPage(ports: QueryPorts, visit: Visit): Promise<Page> {
  const { workspace, caller, req } = visit;
  const framed = (body: Html, status = 200): Page => ({
    ...{ title: readinessSection, section: readinessSection, status, body },
  });
  try {
    const query = worklistQuery(req);
    const { selection, pageToken, asked, limits } = query;
    const page = { limit: ENCOUNTERS_A_PAGE, pageToken };
    const worklist = await readWorklist(ports, workspace, selection, page);
    const [{ names, accesses }, months, trend] = await Promise.all([
      readNames(ports, workspace, namedRecords(worklist.items)),
      monthChart(ports.readModels, workspace, query),
      trendChart(ports.eventLog, workspace, query, worklist.counts),
    ]);
    const { limit } = page;
    const shown = worklistAccesses(worklist.items, { limit, page_token: pageToken, ...asked });
    await recordAccess(ports.eventLog, caller, ...shown, ...accesses);
    return framed(html`${heading(workspace, limits)}
${progressNote(workspace, worklist.progress, req.originalUrl)}
${figures(workspace, query, worklist, { months, trend })}
${worklistForm(workspace, limits)}
<h2 id="list">Encounters</h2>
${worklist.items.length > 0 && worklistTable(workspace, worklist.items, names)}
${further(workspace, query, worklist)}`);
  } catch (error) {
    const refusal = refusalOf(error);
    const form = worklistForm(workspace, sentLimits(req), refusal);
    return framed(html`<h1>${readinessSection}</h1>${formError(refusal.text)}${form}`, refusal.status);
  }
}

function heading(workspace: string, limits: Record<string, string>): Html {
  const address = worklistPath(workspace, limits, '/export');
  return html`<div class="page-head"><h1>${readinessSection}</h1>
<div class="actions"><a role="button" class="outline secondary" href="${scorecardPath(workspace)}">Scorecard</a>
<a role="button" class="outline secondary" href="${simulationPath(workspace)}">Simulation</a>
<a role="button" class="outline secondary" href="${address}" download>Export as CSV</a></div></div>
<p>Shows which encounters can be billed, and what a payer would refuse in the others.</p>`;
}

function figures(
  workspace: string,
  query: WorklistQuery,
  { counts }: Worklist,
  { months, trend }: Record<'months' | 'trend', Html | undefined>,
): Html {
  const shown = counts && shownCounts(counts, query.selection);
  return html`${stateTabs(workspace, query, shown)}
<div class="charts">
<section class="card"><h2>Unmet rules</h2>${ruleChart(workspace, query, counts)}</section>
${trend && html`<section class="card"><h2>Day by day</h2>${trend}</section>`}
${months && html`<section class="card"><h2>By month of service</h2>${months}</section>`}
</div>`;
}

/** Returns the link to the next page, or says what an empty list means. */
function further(workspace: string, { limits, pageToken }: WorklistQuery, worklist: Worklist): Html {
  const { items, next_page_token: token, counts } = worklist;
  if (token !== null) {
    const address = `${worklistPath(workspace, { ...limits, page_token: token })}#list`;
    return html`<p><a href="${address}" rel="next">${items.length === 0 ? 'Keep looking' : 'Next page'}</a></p>`;
  }
  if (items.length > 0) return html``;
  if (pageToken !== undefined) return empty('No more encounters.');
  const isNone = counts !== undefined && isEmpty(counts);
  if (isNone && Object.keys(limits).join() === 'state')
    return empty(html`No encounters yet. Systems send them with ${code('POST /integration/encounters')}.`);
  const isUnblocked = limits.state === 'blocked' && limits.rule === undefined && counts && !isNone;
  return empty(isUnblocked ? 'Nothing blocks the billing of these encounters.' : 'No encounters match.');
}
