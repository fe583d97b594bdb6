import { catalogEntry } from '../../domain/records/catalog.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { dayOf } from '../../modules/readiness/rules/faults.ts';
import type { WorklistEntry, WorklistFinding } from '../../modules/readiness/worklistEntry.ts';
import type { RecordNames } from '../../modules/records/queries/recordNames.ts';
import { fieldLabel } from '../components/fieldLabel.ts';
import { type Html, html } from '../components/html.ts';
import { readinessBadge } from '../components/readinessBadge.ts';
import { fieldValue } from '../components/recordFields.ts';
import { recordPath } from '../components/recordPaths.ts';
import { referredLink } from '../components/referredLink.ts';
import { ruleTitle } from '../components/ruleTitle.ts';
import { table } from '../components/table.ts';
import { badge } from '../components/text.ts';

/** Maximum number of an encounter's findings; its page has all. */
const MOST_SHOWN = 5;

/** Returns the records that such a list names. */
export function namedRecords(entries: readonly WorklistEntry[]): { kind: string; id: string }[] {
  return entries.flatMap(({ patient_id, payer_id, facility_id }) =>
    [
      { kind: 'patient', id: patient_id },
      { kind: 'payer', id: payer_id },
      { kind: 'facility', id: facility_id },
    ].filter((one): one is { kind: string; id: string } => one.id !== undefined),
  );
}

/** Returns encounters with the rules that they do not meet, each linked to the record at fault. */
export function worklistTable(
  workspace: string,
  entries: readonly WorklistEntry[],
  names: RecordNames | undefined,
): Html {
  const referred = (kind: string, id: string | undefined) => referredLink(workspace, kind, id, names);
  return table(
    'Encounters',
    [
      {
        title: 'Encounter',
        isHeader: true,
        cell: ({ encounter_id: id }) =>
          html`<a href="/dashboard${recordPath(workspace, encounter.kind, id)}">${id}</a>`,
      },
      { title: 'State', cell: ({ state }) => readinessBadge(state) },
      { title: 'Date of service', cell: ({ date_of_service: date }) => fieldValue(date && dayOf(date)) },
      { title: 'Patient', cell: ({ patient_id: id }) => referred('patient', id) },
      { title: 'Payer', cell: ({ payer_id: id }) => referred('payer', id) },
      { title: 'Facility', cell: ({ facility_id: id }) => referred('facility', id) },
      { title: 'Unmet rules', cell: (entry) => findingList(workspace, entry) },
    ],
    entries,
  );
}

/** Blocking findings come first; the fields of one record that do not meet a rule are one item. */
function findingList(workspace: string, { encounter_id, findings }: WorklistEntry): Html {
  const groups = Map.groupBy(findings, ({ rule, kind, id }) => JSON.stringify([rule, kind, id]));
  const sorted = [...groups.values()].toSorted((a, b) => Number(isWarning(a)) - Number(isWarning(b)));
  if (sorted.length === 0) return html`<span class="muted">none</span>`;
  const more = sorted.length - MOST_SHOWN;
  const path = `/dashboard${recordPath(workspace, encounter.kind, encounter_id)}`;
  return html`<ul class="plain">${sorted.slice(0, MOST_SHOWN).map((group) => findingItem(workspace, group))}${
    more > 0 && html`<li><a href="${path}">and ${more} more</a></li>`
  }</ul>`;
}

function findingItem(workspace: string, group: readonly WorklistFinding[]): Html {
  const { rule, kind, id } = group[0] as WorklistFinding;
  const fields = group.map(({ field }) => fieldLabel(field)).join('; ');
  return html`<li>${isWarning(group) && html`${badge('warns', 'neutral')} `}<a href="/dashboard${recordPath(workspace, kind, id)}">${ruleTitle(rule)}</a><br><small class="muted">${catalogEntry(kind).title}: ${fields}</small></li>`;
}

function isWarning([first]: readonly WorklistFinding[]): boolean {
  return first?.severity === 'warns';
}
