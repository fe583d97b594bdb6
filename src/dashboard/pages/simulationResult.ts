import { encounter } from '../../domain/records/kinds/encounter.ts';
import { payer } from '../../domain/records/kinds/payer.ts';
import type { CandidateSettings } from '../../modules/readiness/candidateSettings.ts';
import type { Simulation } from '../../modules/readiness/simulate.ts';
import { type Html, html } from '../components/html.ts';
import { recordPath } from '../components/recordPaths.ts';
import { ruleTitle } from '../components/ruleTitle.ts';
import { table } from '../components/table.ts';
import { code, empty } from '../components/text.ts';
import { type ShownState, stateTexts } from './stateTexts.ts';

const MOST_PAYERS = 50;

interface Flip {
  payer: string;
  states: string;
  count: number;
}

/** Returns what a simulation has found. */
export function simulationResult(
  workspace: string,
  { encounters, flips, byPayer, byRule }: Simulation,
): Html {
  const all = Object.values(flips).reduce((sum, count) => sum + count, 0);
  const rules = Object.entries(byRule).map(([rule, counts]) => ({ rule, ...counts }));
  return html`<h2>Result</h2>
<p>Of ${figure(encounters)} encounters, <strong>${figure(all)}</strong> would be in a different state.</p>
${all > 0 && flipTables(workspace, flips, byPayer)}
${rules.length === 0 && empty('Each rule would have the same findings as now.')}
${rules.length > 0 && ruleTable(workspace, rules)}`;
}

function flipTables(workspace: string, flips: Simulation['flips'], byPayer: Simulation['byPayer']): Html {
  const ofPayers = Object.entries(byPayer)
    .flatMap(([id, counts]) => flipsOf(id, counts))
    .sort((a, b) => b.count - a.count);
  const columns = [
    { title: 'Now', cell: ({ states }: Flip) => stateText(states, 0) },
    { title: 'Simulated', cell: ({ states }: Flip) => stateText(states, 1) },
    { title: 'Encounters', cell: ({ count }: Flip) => figure(count) },
  ];
  const payerLink = ({ payer: id }: Flip) =>
    id === '' ? 'none' : html`<a href="/dashboard${recordPath(workspace, payer.kind, id)}">${id}</a>`;
  return html`${table('Encounters in a different state', columns, flipsOf('', flips))}
<h3>By payer</h3>
${ofPayers.length > MOST_PAYERS && html`<p>Showing the payers with the most encounters.</p>`}
${table(
  'Encounters in a different state, by payer',
  [{ title: 'Payer', isHeader: true, cell: payerLink }, ...columns],
  ofPayers.slice(0, MOST_PAYERS),
)}`;
}

function ruleTable(
  workspace: string,
  rules: { rule: string; found: number; gone: number; examples: string[] }[],
): Html {
  const link = (id: string) =>
    html`<li><a href="/dashboard${recordPath(workspace, encounter.kind, id)}">${id}</a></li>`;
  return html`<h3>By rule</h3>
${table(
  'Encounters by rule',
  [
    { title: 'Rule', isHeader: true, cell: ({ rule }) => ruleTitle(rule) },
    { title: 'Would find', cell: ({ found }) => figure(found) },
    { title: 'Would no longer find', cell: ({ gone }) => figure(gone) },
    { title: 'Examples', cell: ({ examples }) => html`<ul class="plain">${examples.map(link)}</ul>` },
  ],
  rules,
)}`;
}

/** Returns which settings were tried. */
export function triedSettings({ rules, filing_limits, required_documents }: CandidateSettings): Html {
  const lines = [
    ...Object.entries(rules ?? {}).map(([rule, choice]) => html`${ruleTitle(rule)}: ${code(choice ?? '')}`),
    ...(filing_limits?.default === undefined
      ? []
      : [html`Filing limit for all payers: ${days(filing_limits.default)}`]),
    ...Object.entries(filing_limits?.payers ?? {}).map(
      ([id, limit]) => html`Filing limit for payer ${code(id)}: ${days(limit)}`,
    ),
    ...Object.entries(required_documents ?? {}).map(
      ([visitType, categories]) => html`Documents for ${code(visitType)}: ${(categories ?? []).join(', ')}`,
    ),
  ];
  return html`<ul class="plain">${lines.map((line) => html`<li>${line}</li>`)}</ul>`;
}

function days(limit: number | null): string {
  return limit === null ? 'none' : `${limit} days`;
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
