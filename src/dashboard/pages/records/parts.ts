import type { ClaimPart, ReadinessState, UsedVersion } from '../../../domain/events/readinessEvents.ts';
import { recordIdOf } from '../../../domain/events/streams.ts';
import { catalogEntry } from '../../../domain/records/catalog.ts';
import { dottedFields } from '../../../domain/records/fold.ts';
import { encounter } from '../../../domain/records/kinds/encounter.ts';
import { patient } from '../../../domain/records/kinds/patient.ts';
import { instantOf } from '../../../domain/records/schema/isoDates.ts';
import type { CatalogEntry } from '../../../domain/records/schema/kind.ts';
import { readinessAccess } from '../../../modules/audit/accesses.ts';
import type { AccessRecorded } from '../../../modules/audit/recordAccess.ts';
import { type Billing, billingPrincipals } from '../../../modules/readiness/billing.ts';
import { readinessOf } from '../../../modules/readiness/evaluate.ts';
import { type Readiness, readReadiness } from '../../../modules/readiness/queries.ts';
import { answerPrincipals } from '../../../modules/readiness/rules/answers.ts';
import { changedAfterBilling } from '../../../modules/readiness/rules/encounter.ts';
import type { RuleSettings } from '../../../modules/readiness/rules/rule.ts';
import { type BilledRecord, type Fault, noSettings } from '../../../modules/readiness/rules/rule.ts';
import {
  type Blocked,
  MOST_LOOKED_AT,
  readBlocked,
  readProgress,
} from '../../../modules/readiness/worklist.ts';
import { readCounts } from '../../../modules/readiness/worklistFanOut.ts';
import { latestDocuments } from '../../../modules/records/queries/documents.ts';
import type { HistoryPorts } from '../../../modules/records/queries/history.ts';
import { encountersOf, listRecords } from '../../../modules/records/queries/lists.ts';
import type { PrincipalNames } from '../../../modules/records/queries/principalNames.ts';
import {
  byService,
  mergedPatients,
  type QueryPorts,
  type RecordView,
} from '../../../modules/records/queries/records.ts';
import { encountersAt } from '../../../modules/records/queries/timeline.ts';
import { MOST_ENCOUNTERS } from '../../../modules/records/queries/wholeTimeline.ts';
import { asUnreadable, UnreadableError } from '../../../platform/errors.ts';
import { coverageLine } from '../../components/coverage.ts';
import { defectText } from '../../components/defects.ts';
import { changed } from '../../components/history.ts';
import { fieldLabel } from '../../components/labels.ts';
import { type Html, type HtmlValue, html, recordReaders, type Visit } from '../../components/page.ts';
import { who } from '../../components/people.ts';
import { dayOf, documentTable, fieldValue, namedLink } from '../../components/records.ts';
import { namedFields, readinessBadge, recordTable, unlessBehind } from '../../components/recordTable.ts';
import { definitionList } from '../../components/tables.ts';
import { code, empty, leftOut, time, tryAgain } from '../../components/text.ts';
import {
  acknowledgePath,
  comparePath,
  filteredPath,
  recordPath,
  worklistPath,
} from '../../components/urls.ts';
import { findingList, readNames, readReferredNames } from './shared.ts';

const parts: Record<ClaimPart, string> = {
  encounter: 'Encounter',
  patient: 'Patient',
  payer: 'Payer',
  provider: 'Billing provider',
  rendering_provider: 'Rendering provider',
  facility: 'Facility',
};

/** Returns what has changed in what the claim carries, whether or not the workspace applies the rule. */
export function changesSince({ facts }: Readiness): Fault[] {
  return changedAfterBilling.check(facts, noSettings);
}

/**
 * Resolves with what was last billed for an encounter: the claim, by whom, on which versions it is based, what has
 * changed since, and why that is acceptable; undefined before it was billed.
 */
export async function billedSummary(
  workspace: string,
  names: PrincipalNames,
  readiness: Readiness,
): Promise<Html | undefined> {
  const { billing } = readiness;
  if (billing === undefined) return undefined;
  await names.learn(billingPrincipals(billing));
  const { claimId, versions, acknowledged } = billing;
  const by = ({ at, principal }: Pick<Billing, 'at' | 'principal'>) =>
    html`${time(at)} by ${who({ ...principal, name: names.nameOf(principal) ?? null })}`;
  return html`${changeList(workspace, readiness, acknowledged !== undefined)}
${definitionList([
  ['Claim', code(claimId)],
  ['Billed', by(billing)],
  ['Versions', versionList(workspace, versions)],
  ...(acknowledged
    ? ([
        ['Changes acknowledged', by(acknowledged)],
        ['Reason', acknowledged.reason],
        ['Up to', versionList(workspace, acknowledged.versions)],
      ] as const)
    : []),
])}`;
}

/**
 * Returns what has changed since an encounter was billed, or since that was last acknowledged: from what to what, each with a link
 * to both versions.
 */
function changeList(workspace: string, readiness: Readiness, isAcknowledged: boolean): Html {
  const changes = changesSince(readiness);
  const since = isAcknowledged ? 'since it was acknowledged' : 'since it was billed';
  if (changes.length === 0) return html`<p>Nothing in the claim has changed ${since}.</p>`;
  return html`<p>Claim data that has changed ${since}:</p>
<dl class="facts">${changes.map((fault) => {
    const { record, field, billedVersion = record.version } = fault;
    const path = comparePath(workspace, record.kind, record.id, billedVersion, record.version);
    return html`<div><dt>${catalogEntry(record.kind).title}: ${fieldLabel(field)}</dt>
<dd>${changedValue(readiness, fault)} <a href="/dashboard${path}">Versions ${billedVersion} and ${record.version}</a></dd></div>`;
  })}</dl>`;
}

/** Returns what a field was in the claim, and what it is now; the former is not known where that version was erased. */
function changedValue(
  { facts: { billed = [] } }: Readiness,
  { record, field, billedVersion }: Fault,
): HtmlValue {
  const to = dottedFields(record.fields).get(field) ?? null;
  const then = billed.find(({ id, version }) => id === record.id && version === billedVersion)?.fields;
  return then ? changed({ field, from: dottedFields(then).get(field) ?? null, to }) : fieldValue(to);
}

function versionList(workspace: string, versions: readonly UsedVersion[]): Html {
  return html`<ul class="plain">${versions.map(
    ({ part, kind, id, version }) =>
      html`<li><a href="/dashboard${recordPath(workspace, kind, id)}?version=${version}">${parts[part]}, version ${version}</a></li>`,
  )}</ul>`;
}

/** The page does not wait longer for the worklist, which may be far behind. */
const WAIT_MS = 250;

/**
 * Resolves with how many encounters a patient, payer, provider or facility keeps from being billed, by which rules.
 * Nothing of the encounters is shown, so nothing is recorded.
 */
async function recordBlocks(
  ports: QueryPorts,
  { workspace }: Visit,
  { kind }: CatalogEntry,
  id: string,
): Promise<RecordPart> {
  const read = async () => {
    const { isCurrent, settings } = await readProgress(ports, workspace, WAIT_MS);
    const [blocked, tally] = await Promise.all([
      readBlocked(ports.readModels, workspace, { kind, id }),
      kind === patient.kind ? undefined : readCounts(ports.readModels, workspace, { [kind]: id }),
    ]);
    const path = (limits: Record<string, string>) =>
      kind === patient.kind
        ? `/dashboard${recordPath(workspace, kind, id)}/encounters`
        : worklistPath(workspace, { [`${kind}_id`]: id, ...limits });
    return html`<p>${countText(blocked)}</p>
${ruleList(blocked, settings, (rule) => path({ rule }))}
${
  tally &&
  html`<p><a href="${path({ state: 'blocked' })}">All blocked encounters that depend on it</a>, for any reason: ${(tally.states.blocked ?? 0).toLocaleString('en-US')}</p>`
}
${!isCurrent && html`<p class="muted">These figures do not include every change yet.</p>`}`;
  };
  const found = await unlessBehind(read()).catch(asUnreadable);
  const isThere = found !== undefined && !(found instanceof UnreadableError);
  const body = isThere ? found : html`<p class="muted">This is not available right now.</p>`;
  return { body: html`<h2>What it blocks</h2>${body}`, accesses: [] };
}

function countText({ count, isWhole }: Blocked): string {
  if (!isWhole) {
    return `Of the first ${MOST_LOOKED_AT} encounters that depend on it, it blocks ${count === 0 ? 'none' : count}.`;
  }
  return count === 0 ? 'Blocks no encounters.' : `Blocks ${encounters(count)}.`;
}

/** Returns the rules with how many encounters do not meet them; `pathOf` is where each leads. */
function ruleList(
  { rules }: Blocked,
  settings: RuleSettings,
  pathOf: (rule: string) => string,
): Html | undefined {
  const sorted = Object.entries(rules).toSorted(([, a], [, b]) => b - a);
  if (sorted.length === 0) return undefined;
  return html`<ul>${sorted.map(
    ([rule, count]) =>
      html`<li><a href="${pathOf(rule)}">${defectText(rule, settings)}</a>: ${encounters(count)}</li>`,
  )}</ul>`;
}

function encounters(count: number): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? 'encounter' : 'encounters'}`;
}

const texts: Record<ReadinessState, string> = {
  ready: 'Nothing blocks billing.',
  self_pay: 'Nothing blocks billing. The patient pays: no claim is to be sent.',
  blocked: 'A payer would refuse it.',
  rejected: 'The last claim was rejected or denied.',
  not_completed: 'It is not marked as completed.',
  voided: 'It is void and must not be billed.',
};

/**
 * Resolves with whether an encounter can be billed, now or as of a moment (as it was asked for), and what is in the
 * way.
 */
export async function encounterReadiness(
  ports: HistoryPorts & QueryPorts,
  { workspace, req, may }: Visit,
  id: string,
  asOf?: string,
): Promise<RecordPart> {
  const moment = asOf === undefined ? undefined : instantOf(asOf);
  const readiness = await unlessBehind(readReadiness(ports, workspace, id, moment)).catch(asUnreadable);
  if (readiness === undefined) {
    return { body: html`<h2>Readiness</h2>${tryAgain(req.originalUrl)}`, accesses: [] };
  }
  if (readiness instanceof UnreadableError) {
    const why = empty(
      'A record that it refers to has an event that this version of the service cannot read.',
    );
    return { body: html`<h2>Readiness</h2>${why}`, accesses: [] };
  }
  const { names } = ports;
  const { state, findings, encounter } = readiness;
  await names.learn([
    ...findings.map(({ cause }) => cause.event.metadata.principal),
    ...answerPrincipals(readiness.facts.answers),
  ]);
  const billed = await billedSummary(workspace, names, readiness);
  const mayAct = asOf === undefined && may(recordReaders);
  const mayChangesStay = mayAct && changesSince(readiness).length > 0;
  return {
    body: html`<h2>Readiness</h2>
<p>${readinessBadge(state)} ${texts[state]}</p>
${state === 'voided' && voidFacts(encounter)}
${findings.length > 0 && findingList(workspace, names, readiness, mayAct)}
${billed && html`<h3>What was billed</h3>${billed}`}
${mayChangesStay && html`<p><a role="button" class="outline secondary" href="/dashboard${acknowledgePath(workspace, id)}">Acknowledge changes</a></p>`}`,
    accesses: [readinessAccess(readiness, asOf)],
  };
}

/** Returns since when, and why, an encounter is void, as sent. */
function voidFacts({ fields }: BilledRecord): Html {
  return definitionList([
    ['Void since', fieldValue(fields.voided_at)],
    ['Reason', fieldValue(fields.void_reason)],
  ]);
}

/**
 * Resolves with the encounters of a patient as they were at an instant (ms since 1970 UTC), for the page of the
 * patient's state at that time.
 */
export async function encountersThen(
  ports: PartPorts,
  { workspace, req }: Visit,
  patientId: string,
  asOf: number,
): Promise<RecordPart> {
  const found = await unlessBehind(encountersAt(ports, workspace, patientId, asOf));
  if (found === undefined)
    return { body: html`<h2>Encounters at that time</h2>${tryAgain(req.originalUrl)}`, accesses: [] };
  const { items, isWhole, unreadable } = found;
  const fields = namedFields(encounter.kind, patient.kind);
  const { names, accesses } = await readReferredNames(ports, workspace, encounter, items, fields);
  const time = new Date(asOf).toISOString();
  const things = items.map(({ id }) => ({ kind: encounter.kind, record_id: id }));
  return {
    body: html`<h2>Encounters at that time</h2>
${recordTable({ workspace, entry: encounter, records: items, names, partOf: patient.kind, asOf: time })}
${leftOut(unreadable)}
${!isWhole && html`<p class="muted">Only the first 200 encounters that ever belonged to the patient were checked.</p>`}`,
    accesses: [
      {
        action: 'record.list',
        kind: encounter.kind,
        query: { patient_id: patientId, as_of: time },
        shown: { ranges: [], count: things.length, things },
      },
      ...accesses,
    ],
  };
}

/** Maximum number of encounters, and of documents, on the page of a patient; pages of their own list all. */
const SHOWN = 50;
/** Maximum number of merged patients whose encounters are shown. */
const MOST_MERGED = 20;

/**
 * Resolves with the encounters of a patient, and of the patients merged into that one, whom it names: those that were
 * changed last, by their dates of service.
 */
export async function patientEncounters(
  ports: PartPorts,
  { workspace, req }: Visit,
  { id: patientId, record }: RecordView,
): Promise<RecordPart> {
  const asked = { limit: SHOWN, sort: '-updated_at' } as const;
  const listOf = (value: string) =>
    unlessBehind(
      listRecords(ports, workspace, encounter, {
        ...{ ...asked, pageToken: undefined },
        filters: [{ field: 'patient_id', value }],
      }),
    );
  const own = await listOf(patientId);
  // By then the read model has every merge.
  const rows = own ? await mergedPatients(ports.readModels, workspace, patientId) : [];
  const ids = [patientId, ...rows.slice(0, MOST_MERGED).map((row) => recordIdOf(row.id))];
  const lists = [own, ...(await Promise.all(ids.slice(1).map(listOf)))].filter((list) => list !== undefined);
  if (lists.length < ids.length) return { body: tryAgain(req.originalUrl), accesses: [] };
  const records = byService(newest(lists.flatMap(({ page }) => page.items)));
  const fields = namedFields(encounter.kind, patient.kind);
  const { names, accesses } = await readReferredNames(ports, workspace, encounter, records, fields);
  const others = await readNames(
    ports,
    workspace,
    ids.slice(1).map((id) => ({ kind: patient.kind, id })),
  );
  const readiness = await unlessBehind(
    readinessOf(
      ports,
      workspace,
      records.map(({ id }) => id),
    ),
  );
  const read = lists.map(({ shown }, place) => ({
    ...({ action: 'record.list', kind: encounter.kind } as const),
    query: { ...asked, patient_id: ids[place] as string },
    ...(shown && { shown }),
  }));
  const pathOf = (id: string) => `/dashboard${filteredPath(workspace, encounter.kind, { patient_id: id })}`;
  const merged = ids
    .slice(1)
    .map(
      (id) =>
        html`<li>${namedLink(workspace, patient.kind, id, others.names?.nameOf(patient.kind, id))}: <a href="${pathOf(id)}">all encounters</a></li>`,
    );
  return {
    body: html`${coverageLine(record, records)}
${recordTable({ workspace, entry: encounter, records, names, readiness, partOf: patient.kind })}
${leftOut(lists.flatMap(({ page }) => page.unreadable))}
<p><a href="${pathOf(patientId)}">All encounters</a></p>
${merged.length > 0 && html`<p>Patients merged into this one, with their encounters:</p><ul>${merged}</ul>`}`,
    accesses: [...read, ...accesses, ...others.accesses],
  };
}

function newest(records: readonly RecordView[]): RecordView[] {
  return records.toSorted((one, other) => other.updated_at.localeCompare(one.updated_at)).slice(0, SHOWN);
}

interface PartPorts extends QueryPorts, HistoryPorts {}

/** A part of a record's page, and the accesses to be recorded before it is shown. */
export interface RecordPart {
  body: Html;
  accesses: AccessRecorded[];
}

/** Resolves with what is below the fields of a record: for an encounter its readiness, for all others what they block. */
export function readRecordParts(
  ports: PartPorts,
  visit: Visit,
  entry: CatalogEntry,
  id: string,
): Promise<RecordPart[]> {
  const part =
    entry.kind === encounter.kind
      ? encounterReadiness(ports, visit, id)
      : recordBlocks(ports, visit, entry, id);
  return Promise.all([part]);
}

/** Resolves with the documents of a patient's encounters, most recently changed first. */
export async function patientDocuments(
  ports: PartPorts,
  { workspace, req }: Visit,
  { id }: RecordView,
): Promise<RecordPart> {
  const encounters = await unlessBehind(encountersOf(ports, workspace, id, MOST_ENCOUNTERS));
  const ids = encounters?.places.map((one) => one.id);
  const list = ids && (await unlessBehind(latestDocuments(ports, workspace, ids, SHOWN)));
  const isWhole = list?.isWhole && encounters?.isWhole;
  const shown = [...new Set(list?.items.map(({ encounter_id }) => encounter_id))];
  const { names, accesses } = await readNames(
    ports,
    workspace,
    shown.map((id) => ({ kind: encounter.kind, id })),
  );
  const nameOf = (id: string) => dayOf(names, id);
  return {
    body: html`${list ? documentTable(workspace, list.items, { nameOf }) : tryAgain(req.originalUrl)}
${list && leftOut(list.unreadable)}
${list && !isWhole && html`<p class="muted">Only the most recently changed documents. The page of each encounter lists all of its documents.</p>`}`,
    accesses: [...shown.map(accessTo), ...accesses],
  };
}

function accessTo(encounterId: string): AccessRecorded {
  return { action: 'document.list', kind: 'document', record_id: encounterId, query: { limit: SHOWN } };
}
