import { pathId } from '../../../api/schemas/parameters.ts';
import { statusOf } from '../../../api/server/answer.ts';
import { recordStream } from '../../../domain/events/streams.ts';
import { catalogEntry, referredIds } from '../../../domain/records/catalog.ts';
import type { FieldChange } from '../../../domain/records/fold.ts';
import { patient } from '../../../domain/records/kinds/patient.ts';
import { type CatalogEntry, recordName } from '../../../domain/records/schema/kind.ts';
import {
  type AccessRecorded,
  recordAccess,
  recordFurtherAccess,
} from '../../../modules/audit/recordAccess.ts';
import { locateErasedBytes, type ScavengePorts } from '../../../modules/erasure/scavenges.ts';
import type { Readiness } from '../../../modules/readiness/queries.ts';
import type { CausedFinding, Step } from '../../../modules/readiness/replay.ts';
import { answerKey } from '../../../modules/readiness/rules/answers.ts';
import type { HistoryPorts } from '../../../modules/records/queries/history.ts';
import { listRecords, type RecordNames, readRecordNames } from '../../../modules/records/queries/lists.ts';
import type { QueryPorts, RecordView } from '../../../modules/records/queries/records.ts';
import { readWholeTimeline } from '../../../modules/records/queries/wholeTimeline.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { ignoreUnavailable } from '../../../platform/retry.ts';
import { answerList, isHolding } from '../../components/answers.ts';
import { defectText } from '../../components/defects.ts';
import { fieldLabel } from '../../components/labels.ts';
import {
  type DashboardRoute,
  type Html,
  type HtmlValue,
  html,
  phiReaders,
  type Reply,
  type Visit,
} from '../../components/page.ts';
import { who } from '../../components/people.ts';
import { erasedBanner } from '../../components/records.ts';
import { kindOf, recordCrumbs, recordsSection, unlessBehind } from '../../components/recordTable.ts';
import { badge, bdi, code, dayText, isolated, time, tryAgain } from '../../components/text.ts';
import { answerPath, disclosuresPath, documentsPath, recordPath, seenPath } from '../../components/urls.ts';
import { accessesTo, itemList } from './timelineItems.ts';

/**
 * Returns what is in the way of billing an encounter, and since which write; the fields of one record that the same
 * write left that way are one item.
 */
export function findingList(
  workspace: string,
  names: HistoryPorts['names'],
  { encounter, findings, at, settings, facts: { answers } }: Readiness,
  canAnswer: boolean,
): Html {
  const groups = Map.groupBy(findings, ({ rule, record: { kind, id }, text, since, cause }) =>
    JSON.stringify([rule.code, kind, id, text, since, cause.event.id]),
  );
  const items = [...groups.values()].map((group) => {
    const { rule, record, answer } = group[0] as CausedFinding;
    const { kind, id } = record;
    const link =
      canAnswer &&
      html`<a class="no-print" href="/dashboard${answerPath(workspace, encounter.id, { rule: rule.code, kind, id })}" aria-label="Answer: ${defectText(rule.code, settings)}">Answer</a>`;
    return html`<li>${findingItem(workspace, names, encounter.id, group, isHolding(answer?.acceptedUntil, at), link)}
${answerList(answers?.get(answerKey(rule.code, record)), answer, at, names)}</li>`;
  });
  return html`<ul class="findings" aria-label="Findings">${items}</ul>`;
}

function findingItem(
  workspace: string,
  names: HistoryPorts['names'],
  encounterId: string,
  group: readonly CausedFinding[],
  isAccepted: boolean,
  link: HtmlValue,
): Html {
  const { rule, severity, text, record, since, cause } = group[0] as CausedFinding;
  const { principal } = cause.event.metadata;
  const fields = group.map(({ field }) => fieldLabel(field)).join('; ');
  return html`<p class="finding-line">${isAccepted ? badge('accepted', 'good') : badge(severity, severity === 'blocks' ? 'bad' : 'neutral')} <span><strong title="${rule.code}: ${rule.title}">${text}</strong> <a href="/dashboard${recordPath(workspace, record.kind, record.id)}">${catalogEntry(record.kind).title}</a>: ${fields}</span>${link}</p>
<p class="muted">Since ${time(since)}: ${causeLink(workspace, encounterId, cause)}, by ${who({ ...principal, name: names.nameOf(principal) ?? null })}</p>`;
}

/** Returns the link to the version from which a finding follows; rule settings have no page. */
function causeLink(workspace: string, encounterId: string, { kind, id, version }: Step): HtmlValue {
  if (kind === 'workspace') return 'rule settings of the workspace were changed';
  if (kind === 'code_set') return `code set ${id} was loaded`;
  if (kind === 'document') {
    return html`<a href="/dashboard${documentsPath(workspace, encounterId, id)}">document, version ${version}</a>`;
  }
  const path = recordPath(workspace, kind, id);
  return html`<a href="/dashboard${path}?version=${version}">${catalogEntry(kind).title.toLowerCase()}, version ${version}</a>`;
}

export interface ErasedPorts extends HistoryPorts, ScavengePorts {}

/** Returns the page of a record; for an erased record, a page that says so, with what is left: the timeline. */
export function orErased(ports: ErasedPorts, route: DashboardRoute): DashboardRoute {
  return {
    ...route,
    async handle(visit) {
      try {
        return await route.handle(visit);
      } catch (error) {
        if (error instanceof ServiceError && error.code === 'gone') return erasedPage(ports, visit, error);
        throw error;
      }
    },
  };
}

/** Maximum number of entries on the page of an erased record. */
const ENTRIES_SHOWN = 100;

const isOfOther =
  (id: string) =>
  ({ record_id }: AccessRecorded) =>
    record_id !== id;

async function erasedPage(ports: ErasedPorts, visit: Visit, error: ServiceError): Promise<Reply> {
  const { req, workspace, may } = visit;
  const entry = kindOf(/\/records\/([a-z]+)\//.exec(req.path)?.[1]);
  const id = pathId(req, 'id', entry.title);
  const request = { limit: ENTRIES_SHOWN, pageToken: undefined };
  const found = await unlessBehind(readWholeTimeline(ports, workspace, entry, id, request));
  const items = found?.items ?? [];
  const history = { action: 'record.history', kind: entry.kind, record_id: id } as const;
  await recordAccess(ports.eventLog, visit.caller, history, ...accessesTo(items, {}).filter(isOfOther(id)));
  const body = html`${recordCrumbs(workspace, entry)}
<div class="record-heading">
<h1>Erased ${entry.kind}</h1>
${
  may(phiReaders) &&
  html`<p class="actions"><a role="button" class="outline" href="/dashboard${recordPath(workspace, entry.kind, id)}/certificate">Erasure certificate</a>
<a role="button" class="outline secondary" href="/dashboard${entry.kind === patient.kind ? disclosuresPath(workspace, id) : seenPath(workspace, entry.kind, id)}">Seen by</a></p>`
}
</div>
<p class="record-facts"><span>ID ${code(id)}</span></p>
${erasedBanner(entry.kind, error.erasedAt as string)}
${await bytesNote(ports, recordStream(workspace, entry.kind, id))}
<h2>Timeline</h2>
${found ? itemList({ workspace, record: { kind: entry.kind, id }, names: undefined }, items) : tryAgain(req.originalUrl)}`;
  const help = [
    'Nothing of it can be restored.',
    'guides/erase-a-patient',
    'what-goes-and-what-stays',
  ] as const;
  return { page: { title: entry.title, help, section: recordsSection, status: statusOf.gone, error, body } };
}

/** Says where its bytes still are; nothing when the state store cannot be reached. */
async function bytesNote(ports: ErasedPorts, stream: string): Promise<Html | undefined> {
  const [last] = await ports.eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
  const bytes = last && (await ignoreUnavailable(locateErasedBytes(ports, last.position)));
  if (bytes === undefined) return undefined;
  if (bytes.erased) return html`<p>Nothing of it is left in the stores’ files.</p>`;
  if (ports.eventLog.scavenger === undefined)
    return html`<p>Its bytes are being removed from the stores’ files.</p>`;
  return bytes.nodes.length > 0
    ? html`<p>The event log’s files still contain its bytes on ${bytes.nodes.map(({ node }) => node).join(', ')}. These nodes are scavenged one after the other.</p>`
    : html`<p>The event log’s files contain its bytes until each of its nodes has scavenged.</p>`;
}

/** The names of what records refer to, and the accesses to be recorded before they are shown. */
interface ReferredNames {
  /** Undefined while the read model is too far behind. */
  names: RecordNames | undefined;
  accesses: AccessRecorded[];
}

/** Reads the names; `fields` are the referring fields to use, by default all of them. */
export async function readReferredNames(
  ports: QueryPorts,
  workspace: string,
  entry: CatalogEntry,
  records: readonly Pick<RecordView, 'record'>[],
  fields?: readonly string[],
): Promise<ReferredNames> {
  const references = entry.references.filter(({ field }) => fields?.includes(field) ?? true);
  const kinds = [...new Set(references.map(({ kind }) => kind))];
  const referred = records.flatMap(({ record }) =>
    kinds.flatMap((kind) => referredIds({ ...entry, references }, record, kind).map((id) => ({ kind, id }))),
  );
  return readNames(ports, workspace, referred);
}

/** Returns the records to which changes of a record of this kind refer. */
export function referredIn({ references }: CatalogEntry, changes: readonly FieldChange[]) {
  return changes.flatMap(({ field, from, to }) => {
    const kind = references.find((one) => one.field === field)?.kind;
    if (kind === undefined) return [];
    return [from, to].filter((id) => typeof id === 'string').map((id) => ({ kind, id }));
  });
}

/** Resolves with a record by its name and id, and the breadcrumb of a page about it; the audit trail has the read of the name. */
export async function readCalled(
  ports: QueryPorts,
  { workspace, caller }: Visit,
  { kind, id }: { kind: string; id: string },
): Promise<{ called: Html; breadcrumb: Html }> {
  const { names, accesses } = await readNames(ports, workspace, [{ kind, id }]);
  // Another access of the page may have the id of the request.
  for (const access of accesses) await recordFurtherAccess(ports.eventLog, caller, access);
  const name = names?.nameOf(kind, id);
  return {
    called: name === undefined ? code(id) : html`<strong>${bdi(name)}</strong> ${code(id)}`,
    breadcrumb: recordCrumbs(workspace, catalogEntry(kind), { id, name }),
  };
}

/** Reads the names of these records; an encounter is called by its patient and day. */
export async function readNames(
  ports: QueryPorts,
  workspace: string,
  records: readonly { kind: string; id: string }[],
): Promise<ReferredNames> {
  if (records.length === 0) return { names: nobody, accesses: [] };
  const own = await unlessBehind(readRecordNames(ports, workspace, records));
  const patients = records.flatMap(({ kind, id }) => {
    const patientId = own?.fieldsOf(kind, id)?.patient_id;
    const isNew = typeof patientId === 'string' && own?.nameOf(patient.kind, patientId) === undefined;
    return isNew ? [{ kind: patient.kind, id: patientId }] : [];
  });
  const others =
    patients.length === 0 ? nobody : await unlessBehind(readRecordNames(ports, workspace, patients));
  if (own === undefined || others === undefined) return { names: undefined, accesses: [] };
  const nameOf = (kind: string, id: string): string | undefined => {
    const fields = own.fieldsOf(kind, id);
    if (fields === undefined) return own.nameOf(kind, id) ?? others.nameOf(kind, id);
    const { patient_id: patientId, date_of_service: date } = fields;
    const name = typeof patientId === 'string' ? nameOf(patient.kind, patientId) : undefined;
    const parts = [name && isolated(name), typeof date === 'string' ? dayText(date) : undefined];
    return parts.filter((part) => part !== undefined).join(', ') || undefined;
  };
  const shown = [...own.shown, ...others.shown];
  const accesses = shown.map(
    ({ kind, shown }): AccessRecorded => ({ action: 'record.list', kind, query: { fields: 'name' }, shown }),
  );
  return { names: { ...own, nameOf, shown }, accesses };
}

const nobody: RecordNames = { nameOf: () => undefined, fieldsOf: () => undefined, shown: [] };

/** Records of a kind whose names are suggested. */
const MOST_SUGGESTED = 100;

/** Resolves with the names that fields for records of these kinds suggest, by the kinds of the records; with fewer where a read model is behind. */
export async function readSuggestions(
  ports: QueryPorts,
  workspace: string,
  entries: readonly CatalogEntry[],
) {
  const suggestions = new Map<string, { value: string; text: string }[]>();
  const accesses: AccessRecorded[] = [];
  for (const entry of entries) {
    const request = { limit: MOST_SUGGESTED, pageToken: undefined, sort: '-updated_at' } as const;
    const list = await unlessBehind(listRecords(ports, workspace, entry, request));
    if (list === undefined || list.page.items.length === 0) continue;
    const options = list.page.items.map(({ id, record }) => ({ value: id, text: recordName(record) ?? id }));
    suggestions.set(entry.kind, options);
    const query = { fields: 'name', limit: MOST_SUGGESTED };
    accesses.push({
      action: 'record.list',
      kind: entry.kind,
      query,
      ...(list.shown && { shown: list.shown }),
    });
  }
  return { suggestions, accesses };
}
