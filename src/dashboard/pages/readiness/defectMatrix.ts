import { type Cause, type CauseGrouping, findCauses } from '../../../modules/readiness/causes.ts';
import {
  type FilingAge,
  filingAgeCount,
  filingAges,
  filingDays,
} from '../../../modules/readiness/filingAges.ts';
import type { RuleSettings } from '../../../modules/readiness/rules/rule.ts';
import { lookThrough, MOST_COUNTED } from '../../../modules/readiness/worklist.ts';
import type { WorklistSelection } from '../../../modules/readiness/worklistFanOut.ts';
import type { RecordNames } from '../../../modules/records/queries/lists.ts';
import type { QueryPorts } from '../../../modules/records/queries/records.ts';
import { defectText } from '../../components/defects.ts';
import { type Html, type HtmlValue, html } from '../../components/page.ts';
import { type TableColumn, table } from '../../components/tables.ts';
import { empty } from '../../components/text.ts';
import { worklistPath } from '../../components/urls.ts';

/** By what the columns of the matrix are told apart. */
export const matrixGroupings = ['payer', 'facility', 'provider'] as const;
export type MatrixGrouping = Extract<CauseGrouping, (typeof matrixGroupings)[number]>;

/** Returns the ids in the parameter `besides`, which excludes the columns of a matrix. */
export function besidesIn(text = ''): string[] {
  return new URLSearchParams(text).getAll('id');
}

function besidesText(ids: readonly string[]): string {
  const parameters = new URLSearchParams();
  for (const id of ids) parameters.append('id', id);
  return parameters.toString();
}

/** Columns of a matrix; all others are one. */
const MOST_COLUMNS = 5;

/** What is counted of the encounters that a page selects. */
export interface DefectCounts {
  causes: readonly Cause[];
  isWhole: boolean;
  ages: Record<FilingAge, number>;
  /** Of the workspace. */
  today: string;
}

/** Counts the defects within any limits of a page, on a day of the workspace. Rejects with `unavailable`. */
export async function readDefects(
  { readModels }: QueryPorts,
  workspace: string,
  { sort: _, ...selection }: WorklistSelection,
  grouping: MatrixGrouping,
  today: string,
): Promise<DefectCounts> {
  const { ages, add } = filingAgeCount(today);
  const hasBlocked = selection.state === undefined || selection.state === 'blocked';
  // One walk counts both, where it comes by the blocked encounters.
  const [{ causes, isWhole }] = await Promise.all([
    findCauses(readModels, workspace, selection, grouping, MOST_COUNTED, hasBlocked ? add : undefined),
    !hasBlocked && lookThrough(readModels, workspace, { ...selection, state: 'blocked' }, MOST_COUNTED, add),
  ]);
  return { causes, isWhole, ages, today };
}

/** Returns the records that a matrix names. */
export function namedInMatrix({ causes }: DefectCounts): { kind: string; id: string }[] {
  return columnsOf(causes);
}

/** Returns the most frequent ones first. */
function columnsOf(causes: readonly Cause[]): { kind: string; id: string }[] {
  const sums = new Map<string, { record: { kind: string; id: string }; count: number }>();
  for (const { record, encounters } of causes) {
    if (record === undefined) continue;
    const sum = sums.get(record.id) ?? { record, count: 0 };
    sums.set(record.id, { record, count: sum.count + encounters });
  }
  const sorted = [...sums.values()].sort((a, b) => b.count - a.count);
  return sorted.slice(0, MOST_COLUMNS).map(({ record }) => record);
}

interface Row {
  rule: string;
  causes: readonly Cause[];
  count: number;
}

/** Where a matrix is shown. */
interface Place {
  workspace: string;
  /** What limits the page, as in its address. */
  limits: Record<string, string>;
  grouping: MatrixGrouping;
  names: RecordNames | undefined;
  settings: RuleSettings;
}

/** Returns the defects by payer, facility or provider: those that block, and warnings apart; each count leads to its encounters. */
export function defectMatrix(place: Place, counts: DefectCounts): Html {
  const { causes, isWhole } = counts;
  const byRule = Map.groupBy(causes, ({ rule, severity }) => `${severity} ${rule}`);
  const rows = [...byRule.values()]
    .map((own): Row & Pick<Cause, 'severity'> => ({
      rule: own[0]?.rule ?? '',
      severity: own[0]?.severity ?? 'warns',
      causes: own,
      count: own.reduce((sum, { encounters }) => sum + encounters, 0),
    }))
    .sort((a, b) => b.count - a.count);
  const [blocking, warning] = [
    rows.filter(({ severity }) => severity === 'blocks'),
    rows.filter(({ severity }) => severity === 'warns'),
  ];
  const columns = columnsOf(causes);
  return html`${agesLine(place, counts)}
<nav class="tabs" aria-label="Columns"><ul>${matrixGroupings.map(
    (one) =>
      html`<li><a href="${worklistPath(place.workspace, { ...place.limits, by: one })}#defects"${one === place.grouping && html` aria-current="page"`}>By ${one}</a></li>`,
  )}</ul></nav>
${blocking.length > 0 ? matrixTable(place, 'Defects that block billing', columns, blocking) : empty('No defects block encounters.')}
${
  warning.length > 0 &&
  html`<details><summary>Warnings: ${warning.length} ${warning.length === 1 ? 'kind' : 'kinds'}, which do not block</summary>
${matrixTable(place, 'Warnings', columns, warning)}</details>`
}
${!isWhole && html`<p class="muted">Counts only the first ${MOST_COUNTED.toLocaleString('en-US')} encounters. Narrow the list to count all.</p>`}`;
}

const ageTexts: Record<FilingAge, string> = {
  thisWeek: 'Lost this week',
  nextWeek: 'Lost next week',
  thisMonth: 'Lost later, within 30 days',
  lost: 'Past the filing limit',
};

/** Returns how many claims are lost when; each count leads to its encounters. Nothing where no filing limit is near. */
function agesLine({ workspace, limits, grouping }: Place, { ages, today }: DefectCounts): Html | undefined {
  if (filingAges.every((age) => ages[age] === 0)) return undefined;
  const { filing_from: _, filing_to: __, ...others } = limits;
  const link = (age: FilingAge) => {
    const { from, to } = filingDays(age, today);
    const days = { ...(from && { filing_from: from }), filing_to: to };
    const address = worklistPath(workspace, { ...others, state: 'blocked', ...days, by: grouping });
    return html`<a href="${address}#list">${ages[age].toLocaleString('en-US')}</a>`;
  };
  return html`<dl class="ages" aria-label="Blocked encounters by filing limit">${filingAges.map(
    (age) => html`<div><dt>${ageTexts[age]}</dt><dd>${ages[age] === 0 ? '0' : link(age)}</dd></div>`,
  )}</dl>`;
}

function matrixTable(
  { workspace, limits, grouping, names, settings }: Place,
  label: string,
  columns: readonly { kind: string; id: string }[],
  rows: readonly Row[],
): Html {
  const cell = (count: number, more: Record<string, string>, within = limits): HtmlValue =>
    count > 0 &&
    html`<a href="${worklistPath(workspace, { ...within, ...more, by: grouping })}#list">${count.toLocaleString('en-US')}</a>`;
  const sumOf = (causes: readonly Cause[]) => causes.reduce((sum, { encounters }) => sum + encounters, 0);
  const isOther = ({ record }: Cause) => record !== undefined && columns.every(({ id }) => id !== record.id);
  const isNone = ({ record }: Cause) => record === undefined;
  // The address names one kind of record that encounters are without, and no second one.
  const isFree = limits.without === undefined || limits.without === grouping;
  const listed = [...besidesIn(limits.besides), ...columns.map(({ id }) => id)];
  const cellWithout = ({ rule, causes }: Row, isCounted: (cause: Cause) => boolean, besides?: string) => {
    const count = sumOf(causes.filter(isCounted));
    const { besides: _, ...rest } = limits;
    const more = { rule, without: grouping, ...(besides !== undefined && { besides }) };
    return isFree ? cell(count, more, rest) : count > 0 && count.toLocaleString('en-US');
  };
  const all: TableColumn<Row>[] = [
    { title: 'Defect', isHeader: true, cell: ({ rule }) => defectText(rule, settings) },
    {
      title: 'All',
      isNumber: true,
      cell: ({ rule, count }) => html`<strong>${cell(count, { rule })}</strong>`,
    },
    ...columns.map(
      ({ kind, id }): TableColumn<Row> => ({
        ...{ title: names?.nameOf(kind, id) ?? id, isName: true, isNumber: true },
        cell: ({ rule, causes }) =>
          cell(sumOf(causes.filter(({ record }) => record?.id === id)), { rule, [`${kind}_id`]: id }),
      }),
    ),
    ...(rows.some(({ causes }) => causes.some(isOther))
      ? [
          {
            title: 'Others',
            isNumber: true,
            cell: (row: Row) => cellWithout(row, isOther, besidesText(listed)),
          },
        ]
      : []),
    ...(rows.some(({ causes }) => causes.some(isNone))
      ? [{ title: `No ${grouping}`, isNumber: true, cell: (row: Row) => cellWithout(row, isNone) }]
      : []),
  ];
  return html`<div class="matrix">${table(label, all, rows)}</div>`;
}
