import type { AppPorts } from '../../../api/routes/index.ts';
import { documentFieldsSchema } from '../../../domain/records/document.ts';
import { encounter, visitTypes } from '../../../domain/records/kinds/encounter.ts';
import { payer } from '../../../domain/records/kinds/payer.ts';
import { validate, validationError } from '../../../domain/records/schema/validation.ts';
import { simulationAccess } from '../../../modules/audit/accesses.ts';
import { recordAccess } from '../../../modules/audit/recordAccess.ts';
import type { Analyses, SimulationRun } from '../../../modules/readiness/jobs.ts';
import { type FilingLimit, limitOfText, limitText } from '../../../modules/readiness/rules/filingLimits.ts';
import { rules } from '../../../modules/readiness/rules/index.ts';
import { payerRulesIn } from '../../../modules/readiness/rules/payerRules.ts';
import {
  choiceOf,
  type RequiredDocuments,
  type Rule,
  type RuleSettings,
  readRuleSettings,
  ruleChoices,
} from '../../../modules/readiness/rules/rule.ts';
import { applySettings } from '../../../modules/readiness/settings.ts';
import {
  type CandidateSettings,
  candidateSettingsSchema,
  type Simulation,
  withCandidates,
} from '../../../modules/readiness/simulation.ts';
import { serviceDaysSchema } from '../../../modules/readiness/worklistModel.ts';
import type { RecordNames } from '../../../modules/records/queries/lists.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { defectText } from '../../components/defects.ts';
import { formError, type InputField, input, messageOf, select } from '../../components/forms.ts';
import { wordsOf } from '../../components/labels.ts';
import {
  admins,
  type DashboardRoute,
  type Html,
  html,
  type Page,
  problemOf,
  type Refusal,
  type Reply,
  recordReaders,
  textOf,
  type Visit,
} from '../../components/page.ts';
import { referredLink, textsOf } from '../../components/recordTable.ts';
import { linesCell, table } from '../../components/tables.ts';
import { bdi, code, empty, ruleTitle } from '../../components/text.ts';
import { docPath, readinessSection, recordPath, simulationPath } from '../../components/urls.ts';
import { readNames, readSuggestions } from '../records/shared.ts';
import { payerRuleFields, payerRulesSent, payerRuleValues } from './payerRuleForm.ts';
import { analysisCrumbs, runEnded, runFacts, runStatus, type ShownRun } from './scorecard.ts';
import { type ShownState, stateTexts } from './worklistQuery.ts';

type Form = Visit['form'];

const categories = documentFieldsSchema.shape.category.options;
const AS_NOW = '';

/** Returns the address of the form, filled in with settings that were tried. */
function triedPath(
  workspace: string,
  settings: RuleSettings,
  { candidates, days }: Pick<SimulationRun, 'candidates' | 'days'>,
): string {
  const { rules, filing_limits: limits, required_documents: documents, payer_rules } = candidates;
  const limit = (value: FilingLimit | null | undefined) => (value ? value.slice(1).toLowerCase() : undefined);
  const [payer] = Object.entries(limits?.payers ?? {});
  const [required] = Object.entries(documents ?? {});
  const fields = {
    ...Object.fromEntries(Object.entries(rules ?? {}).map(([code, choice]) => [`rules.${code}`, choice])),
    ...{
      'filing_limits.default': limit(limits?.default),
      payer_id: payer?.[0],
      payer_limit: limit(payer?.[1]),
    },
    ...{ visit_type: required?.[0], category: required?.[1]?.at(-1), ...days },
    ...payerRuleValues(payer_rules, settings),
  };
  const sent = Object.entries(fields).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return `${simulationPath(workspace)}?${new URLSearchParams(sent).toString()}#settings`;
}

/**
 * Returns the form for settings to be tried, filled in with what it was sent with, or else with what the address says. Its fields
 * have the names used in a candidate.
 */
function simulationForm(
  { workspace, csrf, form: typed, req }: Visit,
  settings: RuleSettings,
  payers: InputField['suggestions'],
  refusal?: Refusal,
): Html {
  const form: Form = { ...textsOf(req), ...typed };
  const isOpen = refusal !== undefined || Object.keys(form).some((name) => name.startsWith('rules.'));
  const errorOf = (field: string) => messageOf(refusal?.details, field);
  const limit = (name: string, label: string) =>
    input({
      ...{ name, label, value: textOf(form, name), error: errorOf(name) },
      hint: 'Such as 90d, 6m or 1y.',
    });
  const day = (name: string, label: string) =>
    input({ name, label, type: 'date', value: textOf(form, name), error: errorOf(name) });
  const group = (legend: string, ...fields: Html[]) =>
    html`<fieldset><legend>${legend}</legend><div class="filter-fields">${fields}</div></fieldset>`;
  const choice = (name: string, label: string, options: readonly string[], asNow = 'No change') =>
    select({
      ...{ name, label, value: textOf(form, name), error: errorOf(name) },
      options: [{ value: AS_NOW, text: asNow }, ...options.map((value) => ({ value, text: wordsOf(value) }))],
    });
  const ruleChoice = (rule: Rule) =>
    choice(
      `rules.${rule.code}`,
      defectText(rule.code, settings),
      [...ruleChoices, 'default'],
      `${choiceOf(settings, rule)}, as now`,
    );
  return html`${formError(refusal)}
<form method="post" action="${simulationPath(workspace)}">${csrf}
<details${isOpen && html` open`}><summary>Rules</summary>
<p class="muted">What a defect does: it blocks billing, warns, or is off. <a href="${docPath('reference/readiness-rules')}">What each rule demands</a></p>
<div class="rule-choices">${rules.map(ruleChoice)}</div>
</details>
${payerRuleFields(form, settings, payers, refusal)}
<div class="charts">${group(
    'Filing limits',
    limit('filing_limits.default', 'Of all payers'),
    input({
      ...{ name: 'payer_id', label: 'Payer', type: 'search', suggestions: payers },
      ...{ value: textOf(form, 'payer_id'), error: errorOf('payer_id'), autocomplete: 'off' },
    }),
    limit('payer_limit', 'Of this payer'),
  )}
${group('One more document', choice('visit_type', 'Visits of type', visitTypes), choice('category', 'Require', categories))}
${group('Only dates of service', day('from', 'From'), day('to', 'To'))}</div>
<div class="actions"><button type="submit">Simulate</button></div>
</form>`;
}

/** Returns what such a form was sent with. Throws `validation_failed`. */
function simulationSent(form: Form, settings: RuleSettings) {
  const sent = (name: string) => textOf(form, name) || undefined;
  const chosen = rules.flatMap(({ code }) => (sent(`rules.${code}`) ? [[code, sent(`rules.${code}`)]] : []));
  const limit = sent('filing_limits.default');
  const payerRules = payerRulesSent(form, settings);
  const [payer, payerLimit] = [sent('payer_id'), sent('payer_limit')];
  const required = requiredSent(sent('visit_type'), sent('category'), settings.requiredDocuments);
  const candidates: CandidateSettings = validate(candidateSettingsSchema, {
    ...(chosen.length > 0 && { rules: Object.fromEntries(chosen) }),
    ...((limit || payer) && {
      filing_limits: {
        ...(limit && { default: limitSent('filing_limits.default', limit) }),
        ...(payer && { payers: { [payer]: limitSent('payer_limit', payerLimit) } }),
      },
    }),
    ...(required && { required_documents: required }),
    ...(payerRules !== undefined && { payer_rules: payerRules }),
  });
  return { candidates, days: validate(serviceDaysSchema, { from: sent('from'), to: sent('to') }) };
}

/** Returns the filing limit in a field. Throws `validation_failed`. */
function limitSent(field: string, text = ''): FilingLimit {
  const limit = limitOfText(text);
  if (limit === undefined)
    throw validationError([{ field, message: 'must be days, months or years, such as 90d, 6m or 1y' }]);
  return limit;
}

/** Returns the documents that the visit type requires, and one more. */
function requiredSent(
  visitType: string | undefined,
  category: string | undefined,
  required: RequiredDocuments,
): Record<string, string[]> | undefined {
  if (visitType === undefined || category === undefined) return undefined;
  return { [visitType]: [...new Set([...(required.get(visitType) ?? []), category])] };
}

const MOST_PAYERS = 50;

interface Flip {
  payer: string;
  states: string;
  count: number;
}

const flipsIn = (flips: Simulation['flips']) => Object.values(flips).reduce((sum, count) => sum + count, 0);

/** Returns what a simulation has found. */
function simulationResult(
  workspace: string,
  { flips, byPayer, byRule, changed }: Simulation,
  names: RecordNames | undefined,
  settings: RuleSettings,
): Html {
  const all = flipsIn(flips);
  const rules = Object.entries(byRule).map(([rule, counts]) => ({ rule, ...counts }));
  return html`${all > 0 && flipTables(workspace, flips, byPayer, names)}
${rules.length === 0 && empty('Each rule would have the same findings as now.')}
${rules.length > 0 && ruleTable(workspace, settings, rules, names)}
${changed.length > 0 && changedTable(workspace, changed, all, names)}`;
}

/** Returns which encounters would be in another state. */
function changedTable(
  workspace: string,
  changed: Simulation['changed'],
  all: number,
  names: RecordNames | undefined,
): Html {
  return html`<h3>Encounters</h3>
${all > changed.length && html`<p>The first ${figure(changed.length)} of ${figure(all)}.</p>`}
<div class="dense flowing">${table<Simulation['changed'][number]>(
    'Encounters that would be in a different state',
    [
      {
        title: 'Encounter',
        isHeader: true,
        cell: ({ id }) => referredLink(workspace, encounter.kind, id, names),
      },
      { title: 'Now', cell: ({ from }) => stateTexts[from] },
      { title: 'Simulated', cell: ({ to }) => stateTexts[to] },
    ],
    changed,
  )}</div>`;
}

function flipTables(
  workspace: string,
  flips: Simulation['flips'],
  byPayer: Simulation['byPayer'],
  names: RecordNames | undefined,
): Html {
  const ofPayers = Object.entries(byPayer)
    .flatMap(([id, counts]) => flipsOf(id, counts))
    .sort((a, b) => b.count - a.count);
  const columns = [
    { title: 'Now', cell: ({ states }: Flip) => stateText(states, 0) },
    { title: 'Simulated', cell: ({ states }: Flip) => stateText(states, 1) },
    { title: 'Encounters', isNumber: true, cell: ({ count }: Flip) => figure(count) },
  ];
  const payerLink = ({ payer: id }: Flip) =>
    id === ''
      ? 'No payer'
      : html`<a href="/dashboard${recordPath(workspace, payer.kind, id)}" title="${id}">${bdi(names?.nameOf(payer.kind, id) ?? id)}</a>`;
  return html`<div class="charts flowing">${table('Encounters in a different state', columns, flipsOf('', flips))}
${table(
  'Encounters in a different state, by payer',
  [{ title: 'Payer', isHeader: true, isCut: true, cell: payerLink }, ...columns],
  ofPayers.slice(0, MOST_PAYERS),
)}</div>
${ofPayers.length > MOST_PAYERS && html`<p class="muted">The ${MOST_PAYERS} payers with the most encounters.</p>`}`;
}

function ruleTable(
  workspace: string,
  settings: RuleSettings,
  rules: { rule: string; found: number; gone: number; examples: string[] }[],
  names: RecordNames | undefined,
): Html {
  return html`<h3>By defect</h3>
<div class="dense flowing">${table(
    'Encounters by defect',
    [
      {
        title: 'Defect',
        isHeader: true,
        cell: ({ rule }) =>
          html`<span title="${ruleTitle(rule, settings)}">${defectText(rule, settings)}</span>`,
      },
      { title: 'More encounters', isNumber: true, cell: ({ found }) => found > 0 && figure(found) },
      { title: 'Fewer encounters', isNumber: true, cell: ({ gone }) => gone > 0 && figure(gone) },
      {
        title: 'Such as',
        isCut: true,
        cell: ({ examples }) =>
          linesCell(
            examples.map((id) => ({
              name: names?.nameOf(encounter.kind, id) ?? id,
              line: referredLink(workspace, encounter.kind, id, names),
            })),
          ),
      },
    ],
    rules,
  )}</div>`;
}

/** Returns which settings were tried. */
function triedSettings(
  { rules, filing_limits, required_documents, payer_rules }: CandidateSettings,
  names: RecordNames | undefined,
): Html {
  const lines = [
    ...Object.entries(rules ?? {}).map(
      ([rule, choice]) => html`<span title="${ruleTitle(rule)}">${defectText(rule)}</span>: ${choice}`,
    ),
    ...(filing_limits?.default === undefined
      ? []
      : [html`Filing limit for all payers: ${limitOrNone(filing_limits.default)}`]),
    ...Object.entries(filing_limits?.payers ?? {}).map(
      ([id, limit]) =>
        html`Filing limit for ${bdi(names?.nameOf(payer.kind, id) ?? id)}: ${limitOrNone(limit)}`,
    ),
    ...Object.entries(required_documents ?? {}).map(
      ([visitType, categories]) =>
        `Documents for ${wordsOf(visitType)}: ${(categories ?? []).map(wordsOf).join(', ')}`,
    ),
    ...Object.entries(payer_rules ?? {}).map(([id, rule]) => {
      const of = rule && new Map([[id, rule]]);
      const tried = of
        ? payerRulesIn({ payerRules: of }).map(({ title, severity }) => `${title} (${severity})`)
        : 'removed';
      return html`Rule of a payer ${code(id)}: ${tried}`;
    }),
  ];
  return html`<h3>Settings that were tried</h3>
<ul class="tried">${lines.map((line) => html`<li>${line}</li>`)}</ul>`;
}

function limitOrNone(limit: FilingLimit | null): string {
  return limit === null ? 'none' : limitText(limit);
}

function flipsOf(id: string, counts: Record<string, number>): Flip[] {
  return Object.entries(counts).map(([states, count]) => ({ payer: id, states, count }));
}

function stateText(states: string, place: 0 | 1): string {
  return stateTexts[states.split(' ')[place] as ShownState];
}

function figure(count: number): string {
  return count.toLocaleString('en-US');
}

type Ports = Pick<AppPorts, 'eventLog' | 'readModels' | 'names'> & { analyses: Analyses };

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
    {
      ...{ method: 'post', path: `${path}/apply`, roles: admins, page: path },
      handle: (visit) => apply(ports, visit),
    },
  ];
}

async function page(ports: Ports, visit: Visit, refusal?: Refusal): Promise<Page> {
  const { eventLog, analyses, names } = ports;
  const { workspace, caller } = visit;
  const [run, settings] = await Promise.all([
    analyses.simulations.last(workspace),
    readRuleSettings(eventLog, workspace),
  ]);
  if (run) await names.learn([run.asked_by]);
  const named = run?.found ? namedIn(run.found.result) : [];
  const tried = Object.keys(run?.candidates.filing_limits?.payers ?? {});
  const [{ names: recordNames, accesses }, known] = await Promise.all([
    readNames(ports, workspace, [...named, ...tried.map((id) => ({ kind: payer.kind, id }))]),
    readSuggestions(ports, workspace, [payer]),
  ]);
  const found = run?.found ? [simulationAccess(run.found.result, queryOf(run))] : [];
  const [first, ...others] = [...found, ...accesses, ...known.accesses];
  if (first) await recordAccess(eventLog, caller, first, ...others);
  const body = html`${analysisCrumbs(workspace)}
<h1>${TITLE}</h1>
<p>Tries settings on all encounters as they are now, and compares the result with the current settings. It changes nothing.</p>
${run && lastRun(visit, run, settings, names, recordNames)}
<h2 id="settings">Settings to try</h2>
${simulationForm(visit, settings, known.suggestions.get(payer.kind), refusal)}`;
  return { title: TITLE, section: readinessSection, body, ...(refusal && { status: refusal.status }) };
}

/** Returns the records of a result that are shown by their names. */
function namedIn({ changed, byRule, byPayer }: Simulation): { kind: string; id: string }[] {
  const encounters = [
    ...changed.map(({ id }) => id),
    ...Object.values(byRule).flatMap(({ examples }) => examples),
  ];
  const payers = Object.keys(byPayer).filter((id) => id !== '');
  return [
    ...[...new Set(encounters)].map((id) => ({ kind: encounter.kind, id })),
    ...payers.map((id) => ({ kind: payer.kind, id })),
  ];
}

function lastRun(
  visit: Visit,
  run: SimulationRun,
  settings: RuleSettings,
  names: Ports['names'],
  recordNames: RecordNames | undefined,
): Html {
  const { workspace, csrf } = visit;
  const goOn = html`<form method="post" action="${simulationPath(workspace)}">${csrf}<div class="actions"><button type="submit" name="go_on" value="yes">Resume</button></div></form>`;
  return html`<div class="page-head"><h2>Last simulation</h2>${run.outcome === 'done' && actions(visit, run, settings)}</div>
${runStatus({ ...shownRun(workspace, run), goOn })}
${run.found && html`<p>Of ${figure(run.found.result.encounters)} encounters, <strong>${figure(flipsIn(run.found.result.flips))}</strong> would be in a different state.</p>`}
${runFacts(run, run.days, names)}
${triedSettings(run.candidates, recordNames)}
${run.found && simulationResult(workspace, run.found.result, recordNames, withCandidates(settings, run.candidates))}`;
}

/** Only the roles that may change the settings of the workspace may apply those that were tried. */
function actions(visit: Visit, run: SimulationRun, settings: RuleSettings): Html {
  const { workspace, csrf } = visit;
  return html`<div class="actions no-print">${
    visit.may(admins) &&
    html`<form method="post" action="${simulationPath(workspace)}/apply">${csrf}<input type="hidden" name="started_at" value="${run.started_at}"><button type="submit">Apply these settings</button></form>`
  }<a role="button" class="outline secondary" href="${triedPath(workspace, settings, run)}">Change and try again</a></div>`;
}

/** Puts the settings in force whose result was shown. */
async function apply(ports: Ports, visit: Visit): Promise<Reply> {
  const { workspace, caller, form, notice } = visit;
  try {
    const run = await ports.analyses.simulations.last(workspace);
    if (run?.outcome !== 'done' || run.started_at !== textOf(form, 'started_at'))
      throw new ServiceError('conflict', 'Other settings were simulated since. Review their result first.');
    await applySettings(ports.eventLog, caller, run.candidates);
  } catch (error) {
    return { page: await page(ports, visit, problemOf(error)) };
  }
  notice('The settings are in force. The worklist is evaluated again.');
  return { redirect: `/workspaces/${workspace}/readiness` };
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
    return { page: await page(ports, visit, problemOf(error)) };
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
