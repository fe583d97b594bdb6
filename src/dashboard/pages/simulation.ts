import type { AppPorts } from '../../api/routes/index.ts';
import { validationError } from '../../domain/records/schema/validate.ts';
import { simulationAccess } from '../../modules/audit/readinessAccesses.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import type { Analyses } from '../../modules/readiness/analyses.ts';
import { readRuleSettings } from '../../modules/readiness/rules/ruleSettings.ts';
import type { SimulationRun } from '../../modules/readiness/simulationRun.ts';
import { simulationPath } from '../components/analysisPaths.ts';
import { type Html, html } from '../components/html.ts';
import {
  type DashboardRoute,
  type Page,
  type Reply,
  recordReaders,
  type Visit,
} from '../components/route.ts';
import { type Refusal, refusalOf, textOf } from '../components/sentForm.ts';
import { readinessSection } from '../components/worklistPaths.ts';
import { analysisCrumbs, runEnded, runFacts, runStatus, type ShownRun } from './runStatus.ts';
import { simulationForm, simulationSent } from './simulationForm.ts';
import { simulationResult, triedSettings } from './simulationResult.ts';

type Ports = Pick<AppPorts, 'eventLog' | 'names'> & { analyses: Analyses };

const TITLE = 'Simulation';

/** `…/readiness/simulation`: settings that are not in force, tried on all encounters. */
export function simulationRoutes(ports: Ports): DashboardRoute[] {
  const path = '/workspaces/:workspace/readiness/simulation';
  const roles = recordReaders;
  return [
    { method: 'get', path, roles, handle: async (visit) => ({ page: await page(ports, visit) }) },
    {
      ...{ method: 'get', path: `${path}/state`, roles, isBackground: true },
      handle: (visit) => state(ports, visit),
    },
    { method: 'post', path, roles, handle: (visit) => start(ports, visit) },
  ];
}

async function page({ eventLog, analyses, names }: Ports, visit: Visit, refusal?: Refusal): Promise<Page> {
  const { workspace, caller } = visit;
  const [run, settings] = await Promise.all([
    analyses.simulations.last(workspace),
    readRuleSettings(eventLog, workspace),
  ]);
  if (run) await names.learn([run.asked_by]);
  if (run?.found) {
    await recordAccess(eventLog, caller, simulationAccess(run.found.result, queryOf(run)));
  }
  const body = html`${analysisCrumbs(workspace)}
<h1>${TITLE}</h1>
<p>Tries settings on all encounters as they are now, and compares the result with the current settings. It changes nothing.</p>
${run && lastRun(visit, run, names)}
<h2>Settings to try</h2>
${simulationForm(visit, settings, refusal)}`;
  return { title: TITLE, section: readinessSection, body, ...(refusal && { status: refusal.status }) };
}

function lastRun(visit: Visit, run: SimulationRun, names: Ports['names']): Html {
  const { workspace, csrf } = visit;
  const goOn = html`<form method="post" action="${simulationPath(workspace)}">${csrf}<div class="actions"><button type="submit" name="go_on" value="yes">Resume</button></div></form>`;
  return html`<h2>Last simulation</h2>
${runStatus({ ...shownRun(workspace, run), goOn })}
${runFacts(run, run.days, names, [['Settings', triedSettings(run.candidates)]])}
${run.found && simulationResult(workspace, run.found.result)}`;
}

function shownRun(workspace: string, run: SimulationRun): ShownRun {
  const { total, found } = run;
  return { run, done: found?.result.encounters ?? 0, total, path: simulationPath(workspace) };
}

async function state({ analyses }: Ports, { workspace }: Visit): Promise<Reply> {
  const run = await analyses.simulations.last(workspace);
  const isUnderWay = run !== undefined && run.outcome === undefined;
  return {
    fragment: isUnderWay ? runStatus(shownRun(workspace, run)) : runEnded(simulationPath(workspace)),
  };
}

async function start(ports: Ports, visit: Visit): Promise<Reply> {
  const { eventLog, analyses } = ports;
  const { workspace, caller, form, notice } = visit;
  try {
    const settings = await readRuleSettings(eventLog, workspace);
    const sent = textOf(form, 'go_on') === 'yes' ? undefined : simulationSent(form, settings);
    await analyses.simulations.start(
      workspace,
      caller.principal,
      (last) => begun(workspace, sent, last),
      () => recordAccess(eventLog, caller, { action: 'readiness.simulation', query: { ...sent?.days } }),
    );
  } catch (error) {
    return { page: await page(ports, visit, refusalOf(error)) };
  }
  notice('The simulation has started.');
  return { redirect: `/workspaces/${workspace}/readiness/simulation` };
}

/** Returns what was sent; otherwise the last one continues. */
function begun(
  workspace: string,
  sent: ReturnType<typeof simulationSent> | undefined,
  last: SimulationRun | undefined,
) {
  if (sent && Object.keys(sent.candidates).length > 0) return { workspace, ...sent, total: 0 };
  if (sent || last === undefined) {
    throw validationError([
      { field: 'rules', message: 'Choose at least one setting that differs from the current one.' },
    ]);
  }
  const { candidates, days, total, found } = last;
  return { workspace, candidates, days, total, found };
}

function queryOf({ days: { from, to } }: SimulationRun): Record<string, string> {
  return { ...(from && { from }), ...(to && { to }) };
}
