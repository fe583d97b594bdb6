import { facility } from '../../../domain/records/kinds/facility.ts';
import { payer } from '../../../domain/records/kinds/payer.ts';
import { provider } from '../../../domain/records/kinds/provider.ts';
import { worklistAccesses } from '../../../modules/audit/accesses.ts';
import { recordAccess } from '../../../modules/audit/recordAccess.ts';
import type { UserDirectory } from '../../../modules/auth/users.ts';
import { isEmpty, type ShownCounts, shownCounts } from '../../../modules/readiness/counts.ts';
import { readSince } from '../../../modules/readiness/since.ts';
import { readWorklist, type Worklist, type WorklistProgress } from '../../../modules/readiness/worklist.ts';
import type { PrincipalNames } from '../../../modules/records/queries/principalNames.ts';
import type { QueryPorts } from '../../../modules/records/queries/records.ts';
import {
  type DashboardRoute,
  type Html,
  html,
  type Page,
  problemOf,
  recordReaders,
  type Visit,
} from '../../components/page.ts';
import { pageLinks } from '../../components/paging.ts';
import { userSuggestions } from '../../components/people.ts';
import { code, empty } from '../../components/text.ts';
import {
  readinessSection,
  recordPath,
  scorecardPath,
  signedPath,
  simulationPath,
  worklistPath,
} from '../../components/urls.ts';
import { readNames, readSuggestions } from '../records/shared.ts';
import { defectMatrix, namedInMatrix, readDefects } from './defectMatrix.ts';
import { countIn, monthChart, trendChart } from './worklistCharts.ts';
import { exportWorklist } from './worklistExport.ts';
import {
  type ShownState,
  sentLimits,
  shownStates,
  stateTexts,
  type WorklistQuery,
  worklistForm,
  worklistParameters,
  worklistQuery,
} from './worklistQuery.ts';
import { namedRecords, textForOthers, worklistTable } from './worklistTable.ts';

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

/** Returns links to each state, with how many encounters are in it, where that is known. */
function stateTabs(workspace: string, { limits }: WorklistQuery, counts?: ShownCounts): Html {
  const figure = (state: ShownState) =>
    counts && html` <strong>${countIn(counts, state).toLocaleString('en-US')}</strong>`;
  return html`<nav class="tabs" aria-label="States"><ul>${shownStates.map(
    (state) =>
      html`<li><a href="${worklistPath(workspace, { ...limits, state })}"${
        state === limits.state && html` aria-current="page"`
      }>${stateTexts[state]}${figure(state)}</a></li>`,
  )}</ul></nav>`;
}

const ENCOUNTERS_A_PAGE = 50;

interface WorklistPorts extends QueryPorts {
  names: PrincipalNames;
  users: UserDirectory;
}

/** `…/readiness`: the encounters of a workspace by what is in the way of billing them; pages, and an export. */
export function worklistRoutes(ports: WorklistPorts): DashboardRoute[] {
  const path = '/workspaces/:workspace/readiness';
  const query = worklistParameters;
  return [
    {
      ...{ method: 'get', path, roles: recordReaders, query },
      handle: async (visit) => ({ page: await worklistPage(ports, visit) }),
    },
    {
      ...{ method: 'get', path: `${path}/export`, roles: recordReaders, query, report: 'worklist' },
      handle: (visit) => exportWorklist(ports, visit),
    },
  ];
}

async function worklistPage(ports: WorklistPorts, visit: Visit): Promise<Page> {
  const { workspace, caller, req } = visit;
  const framed = (body: Html, status = 200): Page => ({
    ...{ title: readinessSection, section: readinessSection, status, body },
  });
  try {
    const query = worklistQuery(req);
    const { selection, pageToken, asked, limits } = query;
    const page = { limit: ENCOUNTERS_A_PAGE, pageToken };
    const worklist = await readWorklist(ports, workspace, selection, page);
    const { settings } = worklist;
    const defects = await readDefects(ports, workspace, selection, query.by, worklist.today);
    const known = await readSuggestions(ports, workspace, [payer, facility, provider]);
    const [{ names, accesses }, since, months, trend] = await Promise.all([
      readNames(ports, workspace, [...namedRecords(worklist.items), ...namedInMatrix(defects)]),
      readSince(
        ports.eventLog,
        workspace,
        worklist.items.map(({ encounter_id }) => encounter_id),
      ),
      monthChart(ports.readModels, workspace, query),
      trendChart(ports.eventLog, workspace, query, worklist.counts),
    ]);
    await ports.names.learn([...since.values()].flatMap(({ principal }) => principal ?? []));
    const { limit } = page;
    const list = new URLSearchParams({
      ...limits,
      by: query.by,
      ...(pageToken !== undefined && { page_token: pageToken }),
    }).toString();
    const shown = worklistAccesses(worklist.items, { limit, page_token: pageToken, ...asked });
    await recordAccess(ports.eventLog, caller, ...shown, ...accesses, ...known.accesses);
    return framed(html`${heading(workspace, limits)}
${progressNote(workspace, worklist.progress, req.originalUrl)}
${stateTabs(workspace, query, worklist.counts && shownCounts(worklist.counts, selection))}
${worklistForm(workspace, limits, known.suggestions, { settings, users: userSuggestions(ports.users, workspace) })}
<section aria-labelledby="defects"><h2 id="defects">Defects</h2>
${defectMatrix({ workspace, limits, grouping: query.by, names, settings }, defects)}</section>
<div class="page-head"><h2 id="list">Encounters</h2>
${textForOthers(worklist.items, names, settings)}</div>
${withoutNote(workspace, query)}
${worklist.items.length > 0 && worklistTable(workspace, worklist.items, { names, since, principals: ports.names, list, settings, isOfAllStates: asked.state === undefined })}
${further(req, query, worklist)}
${figures({ months, trend })}`);
  } catch (error) {
    const refusal = problemOf(error);
    const form = worklistForm(workspace, sentLimits(req), new Map(), { refusal });
    return framed(html`<h1>${readinessSection}</h1>${form}`, refusal.status);
  }
}

/** Says which column of the matrix the list is limited to, where no filter does. */
function withoutNote(workspace: string, { selection: { without }, limits }: WorklistQuery): Html | undefined {
  if (without === undefined) return undefined;
  const { without: _, besides: __, ...others } = limits;
  const text = without.besides === undefined ? 'without a' : 'of another';
  return html`<p class="muted">Only encounters ${text} ${without.kind}${without.besides && ' than the most frequent ones'}. <a href="${worklistPath(workspace, others)}#list">Show all</a></p>`;
}

function heading(workspace: string, limits: Record<string, string>): Html {
  const address = worklistPath(workspace, limits, '/export');
  return html`<div class="page-head"><h1>${readinessSection}</h1>
<div class="actions"><a role="button" class="outline secondary" href="${scorecardPath(workspace)}">Scorecard</a>
<a role="button" class="outline secondary" href="${simulationPath(workspace)}">Simulation</a>
<a role="button" class="outline secondary" href="${address}" download>Export as CSV</a>
<a role="button" class="outline secondary" href="${signedPath(address)}" download>Export with manifest</a></div></div>
<p>Shows which encounters can be billed, and what a payer would refuse in the others.</p>`;
}

function figures({ months, trend }: Record<'months' | 'trend', Html | undefined>): Html {
  return html`<div class="charts">
${trend && html`<section class="card"><h2>Day by day</h2>${trend}</section>`}
${months && html`<section class="card"><h2>By month of service</h2>${months}</section>`}
</div>`;
}

/** Returns the links to other pages, or says what an empty list means. */
function further(req: Visit['req'], { limits, pageToken }: WorklistQuery, worklist: Worklist): Html {
  const { items, next_page_token: token, counts } = worklist;
  const links = pageLinks(req, { token, by: 'list', isShort: items.length === 0, part: 'list' });
  if (items.length > 0 || token !== null) return links;
  if (pageToken !== undefined) return html`${empty('No more encounters.')}${links}`;
  const isNone = counts !== undefined && isEmpty(counts);
  if (isNone && Object.keys(limits).join() === 'state')
    return empty(html`No encounters yet. Systems send them with ${code('POST /integration/encounters')}.`);
  const isUnblocked = limits.state === 'blocked' && limits.rule === undefined && counts && !isNone;
  return empty(isUnblocked ? 'Nothing blocks the billing of these encounters.' : 'No encounters match.');
}
