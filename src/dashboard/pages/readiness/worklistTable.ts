import { catalogEntry } from '../../../domain/records/catalog.ts';
import { encounter } from '../../../domain/records/kinds/encounter.ts';
import type { RuleSettings } from '../../../modules/readiness/rules/rule.ts';
import type { Since } from '../../../modules/readiness/since.ts';
import {
  isBlocking,
  type WorklistEntry,
  type WorklistFinding,
} from '../../../modules/readiness/worklistModel.ts';
import type { RecordNames } from '../../../modules/records/queries/lists.ts';
import type { PrincipalNames } from '../../../modules/records/queries/principalNames.ts';
import { answerBadges } from '../../components/answers.ts';
import { defectText } from '../../components/defects.ts';
import { fieldLabel } from '../../components/labels.ts';
import { type Html, html } from '../../components/page.ts';
import { fieldValue } from '../../components/records.ts';
import { readinessBadge } from '../../components/recordTable.ts';
import { table } from '../../components/tables.ts';
import { badge, bdi, day, dayText, idBeside, timeAgo } from '../../components/text.ts';
import { answerPath, recordPath } from '../../components/urls.ts';

/** Maximum number of an encounter's findings; its page has all. */
const MOST_SHOWN = 5;

/** Returns the records that such a list names. */
export function namedRecords(entries: readonly WorklistEntry[]): { kind: string; id: string }[] {
  return entries.flatMap(({ patient_id, payer_id, facility_id, provider_id }) =>
    [
      { kind: 'patient', id: patient_id },
      { kind: 'payer', id: payer_id },
      { kind: 'facility', id: facility_id },
      { kind: 'provider', id: provider_id },
    ].filter((one): one is { kind: string; id: string } => one.id !== undefined),
  );
}

/** What a list of encounters shows besides the worklist. */
interface Shown {
  /** Otherwise all are in the state of the tab. */
  isOfAllStates: boolean;
  names: RecordNames | undefined;
  since: ReadonlyMap<string, Since>;
  principals: PrincipalNames;
  /** The query of the page. */
  list: string;
  settings: RuleSettings;
}

/** Returns encounters, a line each, with their defects; each is linked to the record at fault, and to the page that answers it. */
export function worklistTable(workspace: string, entries: readonly WorklistEntry[], shown: Shown): Html {
  const { names, since, principals, list, settings, isOfAllStates } = shown;
  const referred = (kind: string, id: string | undefined) =>
    id !== undefined &&
    html`<a href="/dashboard${recordPath(workspace, kind, id)}" title="${id}" dir="auto">${names?.nameOf(kind, id) ?? id}</a>`;
  const hasDeadline = entries.some((entry) => entry.filing?.last_day !== undefined);
  return html`<div class="dense flowing worklist">${table(
    'Encounters',
    [
      {
        title: 'Patient',
        ...{ isHeader: true, isCut: true },
        cell: ({ encounter_id: id, patient_id }: WorklistEntry) => {
          const name = (patient_id && names?.nameOf('patient', patient_id)) || id;
          return html`<a href="/dashboard${recordPath(workspace, encounter.kind, id)}" title="${name}" dir="auto">${name}</a>`;
        },
      },
      {
        title: 'Encounter',
        cell: ({ encounter_id: id, billed }: WorklistEntry) =>
          html`${idBeside(id)}${billed && html` ${badge('Billed', 'neutral')}`}`,
      },
      ...(isOfAllStates
        ? [{ title: 'State', cell: ({ state }: WorklistEntry) => readinessBadge(state) }]
        : []),
      {
        title: 'Service',
        cell: ({ date_of_service: date }: WorklistEntry) => (date ? day(date) : fieldValue(date)),
      },
      ...(hasDeadline
        ? [
            {
              title: 'File by',
              cell: (entry: WorklistEntry) => {
                const last = entry.filing?.last_day;
                return last === undefined ? '' : day(last);
              },
            },
          ]
        : []),
      {
        title: 'Provider',
        isCut: true,
        cell: ({ provider_id: id }: WorklistEntry) => referred('provider', id),
      },
      { title: 'Payer', isCut: true, cell: ({ payer_id: id }: WorklistEntry) => referred('payer', id) },
      {
        title: 'Defect',
        isCut: true,
        cell: (entry: WorklistEntry) => findingList({ workspace, list, settings }, entry),
      },
      {
        title: 'Since, by',
        isCut: true,
        cell: ({ encounter_id: id }: WorklistEntry) => {
          const known = since.get(id);
          if (known === undefined) return '';
          const { at, principal } = known;
          return html`${timeAgo(at)} <small class="muted">${principal && bdi(principals.nameOf(principal) ?? principal.id)}</small>`;
        },
      },
    ],
    entries,
  )}</div>`;
}

/** Returns the defects of a page as lines of text that can be sent to the people who enter the data. */
export function textForOthers(
  entries: readonly WorklistEntry[],
  names: RecordNames | undefined,
  settings: RuleSettings,
): Html | undefined {
  const lines = entries.flatMap((entry) => {
    const { encounter_id, patient_id = '', date_of_service: date, findings } = entry;
    const patient = `${names?.nameOf('patient', patient_id) ?? ''} (${patient_id})`.trim();
    return findings.filter(isBlocking).map(({ rule, kind, id, field }) => {
      const name = names?.nameOf(kind, id);
      const at = `${catalogEntry(kind).title} ${name === undefined ? id : `${name} (${id})`}, ${fieldLabel(field)}`;
      return `${defectText(rule, settings)}: ${at}. Encounter ${encounter_id} of ${patient}${date ? `, ${dayText(date)}` : ''}`;
    });
  });
  if (lines.length === 0) return undefined;
  return html`<div class="for-others no-print"><details class="further"><summary>Text for the EMR team</summary><pre id="for-others" dir="auto" tabindex="0">${[...new Set(lines)].join('\n')}</pre></details>
<div class="actions"><button type="button" class="outline" data-copy="for-others">Copy for the EMR team</button></div></div>`;
}

/** Where a finding is shown. */
interface Place {
  workspace: string;
  encounterId: string;
  /** The query of the page. */
  list: string;
  settings: RuleSettings;
}

/** Blocking findings come first, and only the first one is open; the fields of one record that do not meet a rule are one item. */
function findingList(page: Omit<Place, 'encounterId'>, { encounter_id, findings }: WorklistEntry): Html {
  const groups = Map.groupBy(findings, ({ rule, kind, id }) => JSON.stringify([rule, kind, id]));
  const blocks = ([first]: readonly WorklistFinding[]) => Number(first !== undefined && isBlocking(first));
  const sorted = [...groups.values()].toSorted((a, b) => blocks(b) - blocks(a));
  const [first, ...others] = sorted;
  if (first === undefined) return html`<span class="muted">none</span>`;
  const more = others.length - MOST_SHOWN;
  const path = `/dashboard${recordPath(page.workspace, encounter.kind, encounter_id)}`;
  const place = { ...page, encounterId: encounter_id };
  return html`<div class="defects">${defectLink(place, first)}${
    others.length > 0 &&
    html`<details class="further"><summary>and ${others.length} more</summary><ul class="plain">${others.slice(0, MOST_SHOWN).map((group) => findingItem(place, group))}${
      more > 0 && html`<li><a href="${path}">and ${more} more</a></li>`
    }</ul></details>`
  }</div>`;
}

function defectLink(
  { workspace, encounterId, list, settings }: Place,
  group: readonly WorklistFinding[],
): Html {
  const finding = group[0] as WorklistFinding;
  const { rule, severity, kind, id } = finding;
  const fields = group.map(({ field }) => fieldLabel(field)).join('; ');
  const answer = answerPath(workspace, encounterId, finding, { list });
  const defect = defectText(rule, settings);
  return html`${severity === 'warns' && html`${badge('warns', 'neutral')} `}<a href="/dashboard${recordPath(workspace, kind, id)}" title="${defect}. ${catalogEntry(kind).title}: ${fields}">${defect}</a>${answerBadges(finding)} <a class="quiet-link no-print" href="/dashboard${answer}" aria-label="Answer: ${defect}">Answer</a>`;
}

function findingItem(place: Place, group: readonly WorklistFinding[]): Html {
  const { kind } = group[0] as WorklistFinding;
  const fields = group.map(({ field }) => fieldLabel(field)).join('; ');
  return html`<li>${defectLink(place, group)}<br><small class="muted">${catalogEntry(kind).title}: ${fields}</small></li>`;
}
