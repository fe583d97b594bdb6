import { encounter } from '../../../domain/records/kinds/encounter.ts';
import { patient } from '../../../domain/records/kinds/patient.ts';
import { type CatalogEntry, recordName } from '../../../domain/records/schema/kind.ts';
import type { AccessRecorded } from '../../../modules/audit/recordAccess.ts';
import { currentHolding, type Holding } from '../../../modules/erasure/holdState.ts';
import { findReferrers } from '../../../modules/erasure/references.ts';
import type { QueryPorts, RecordView } from '../../../modules/records/queries/records.ts';
import { dropdown } from '../../components/layout.ts';
import {
  admins,
  type Html,
  holdKeepers,
  html,
  phiReaders,
  recordReaders,
  type Visit,
} from '../../components/page.ts';
import { heldBanner } from '../../components/records.ts';
import { recordCrumbs, unlessBehind } from '../../components/recordTable.ts';
import { badge, bdi, code, day, dayText, time } from '../../components/text.ts';
import {
  copyPath,
  disclosuresPath,
  documentsPath,
  encountersPath,
  erasePath,
  filteredPath,
  patientDocumentsPath,
  proofPath,
  recordHoldPath,
  recordPath,
  seenPath,
  timelinePath,
} from '../../components/urls.ts';
import { readNames } from './shared.ts';

/** The pages of one record, which its tabs lead to. */
export type RecordTab = 'overview' | 'timeline' | 'encounters' | 'documents' | 'seen';

/** What the top of each page of a record shows, and the accesses to be recorded before it is shown. */
export interface RecordHead {
  head: Html;
  accesses: AccessRecorded[];
}

/**
 * Resolves with the top of a page of a record: who it is, what holds it, and the tabs. `view` is its latest state, or
 * the one that the page shows.
 */
export async function readHead(
  ports: QueryPorts,
  visit: Visit,
  entry: CatalogEntry,
  view: RecordView,
  tab: RecordTab,
): Promise<RecordHead> {
  const { workspace } = visit;
  const { kind } = entry;
  const { id } = view;
  const [holding, { title, nameOf, accesses }] = await Promise.all([
    readHolding(ports, workspace, entry, id),
    readTitle(ports, workspace, entry, view),
  ]);
  return {
    head: html`${recordCrumbs(workspace, entry)}
<div class="record-heading">
<h1>${title}</h1>
${actions(visit, entry, view)}
</div>
${facts(workspace, view, holding, nameOf)}
${tabs(visit, entry, id, tab)}
${heldBanner(visit, kind, holding)}`,
    accesses,
  };
}

interface RecordTitle {
  title: Html;
  /** The same without the kind, for a breadcrumb. */
  name: Html;
  nameOf(patientId: string): string | undefined;
  accesses: AccessRecorded[];
}

/** Resolves with what a record is called, the names in it, and the accesses to be recorded before it is shown. */
export async function readTitle(
  ports: QueryPorts,
  workspace: string,
  entry: CatalogEntry,
  view: RecordView,
): Promise<RecordTitle> {
  const { record } = view;
  const other = entry.kind === encounter.kind ? record.patient_id : record.merged_into;
  const named = typeof other === 'string' ? [{ kind: patient.kind, id: other }] : [];
  const { names, accesses } = await readNames(ports, workspace, named);
  const nameOf = (of: string) => names?.nameOf(patient.kind, of);
  return { ...calledBy(entry, view, nameOf), nameOf, accesses };
}

/** Returns what a record is called: an encounter by its patient and day. */
function calledBy(
  { kind, title }: CatalogEntry,
  { id, record }: RecordView,
  nameOf: (patientId: string) => string | undefined,
): Pick<RecordTitle, 'title' | 'name'> {
  if (kind !== encounter.kind) {
    const name = bdi(recordName(record) ?? id);
    return { title: html`${title} ${name}`, name };
  }
  const { patient_id: patientId, date_of_service: date } = record;
  const of = typeof patientId === 'string' ? bdi(nameOf(patientId) ?? patientId) : undefined;
  const day = typeof date === 'string' ? `, ${dayText(date)}` : '';
  return { title: html`Encounter${of && html` of ${of}`}${day}`, name: html`${of ?? bdi(id)}${day}` };
}

function facts(
  workspace: string,
  { id, version, record, created_at, updated_at }: RecordView,
  holding: Holding | undefined,
  nameOf: (patientId: string) => string | undefined,
): Html {
  const { date_of_birth: born, merged_into: into } = record;
  const merged =
    typeof into === 'string' &&
    html`<span>${badge('merged', 'neutral')} into <a href="/dashboard${recordPath(workspace, patient.kind, into)}">${bdi(nameOf(into) ?? into)}</a></span>`;
  return html`<p class="record-facts">${typeof born === 'string' && html`<span>Born ${day(born)}</span>`} <span>ID ${code(id)}</span> ${merged} ${
    holding && html`<span>${badge('legal hold', 'bad')}</span>`
  } <span>Version ${version}</span> <span>Created ${time(created_at)}</span> <span>Last change ${time(updated_at)}</span></p>`;
}

function actions({ workspace, may }: Visit, { kind }: CatalogEntry, { id, version }: RecordView): Html {
  const all: [text: string, path: string, isOffered: boolean][] = [
    ['Copy for the patient', copyPath(workspace, id), kind === patient.kind && may(phiReaders)],
    ['Signed proof', proofPath(workspace, kind, id, version), may(phiReaders)],
    ['Put under legal hold', recordHoldPath(workspace, kind, id), may(holdKeepers)],
    ['Erase', erasePath(workspace, kind, id), may(admins)],
  ];
  const further = all
    .filter(([, , isOffered]) => isOffered)
    .map(
      ([text, path]) =>
        html`<a href="/dashboard${path}"${text === 'Erase' && html` class="destructive"`}>${text}</a>`,
    );
  return html`<div class="actions">${
    may(recordReaders) &&
    html`<a role="button" class="outline" href="/dashboard${recordPath(workspace, kind, id)}/print">Printable page</a>`
  }${further.length > 0 && dropdown('More actions', further)}</div>`;
}

function tabs({ workspace, may }: Visit, { kind }: CatalogEntry, id: string, current: RecordTab): Html {
  const seen = kind === patient.kind ? disclosuresPath(workspace, id) : seenPath(workspace, kind, id);
  const all: [tab: RecordTab, text: string, path: string | undefined][] = [
    ['overview', 'Overview', recordPath(workspace, kind, id)],
    ['timeline', 'Timeline', timelinePath(workspace, kind, id)],
    ['encounters', 'Encounters', encountersTab(workspace, kind, id)],
    ['documents', 'Documents', documentsTab(workspace, kind, id)],
    ['seen', 'Seen by', may(phiReaders) ? seen : undefined],
  ];
  return html`<nav class="tabs" aria-label="Record"><ul>${all.map(
    ([tab, text, path]) =>
      path !== undefined &&
      html`<li><a href="/dashboard${path}"${tab === current && html` aria-current="page"`}>${text}</a></li>`,
  )}</ul></nav>`;
}

function encountersTab(workspace: string, kind: string, id: string): string | undefined {
  if (kind === patient.kind) return encountersPath(workspace, id);
  const field = encounter.filters.find((one) => one.field === `${kind}_id`)?.field;
  return field && filteredPath(workspace, encounter.kind, { [field]: id });
}

function documentsTab(workspace: string, kind: string, id: string): string | undefined {
  if (kind === patient.kind) return patientDocumentsPath(workspace, id);
  return kind === encounter.kind ? documentsPath(workspace, id) : undefined;
}

/**
 * Resolves with the legal holds on a record, for a patient including those on its encounters, unless their read model
 * is too far behind.
 */
function readHolding(ports: QueryPorts, workspace: string, { kind }: CatalogEntry, id: string) {
  return currentHolding(ports.eventLog, workspace, { kind, id }, async () => {
    if (kind !== patient.kind) return [];
    return (await unlessBehind(findReferrers(ports, workspace, kind, id))) ?? [];
  });
}
