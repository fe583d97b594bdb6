import { pathId, requestedMoment } from '../../../api/schemas/parameters.ts';
import { statusOf } from '../../../api/server/answer.ts';
import { encounter } from '../../../domain/records/kinds/encounter.ts';
import { patient } from '../../../domain/records/kinds/patient.ts';
import { instantOf } from '../../../domain/records/schema/isoDates.ts';
import type { CatalogEntry } from '../../../domain/records/schema/kind.ts';
import { recordAccess } from '../../../modules/audit/recordAccess.ts';
import { readRecordAt } from '../../../modules/records/queries/history.ts';
import { type QueryPorts, type RecordView, readRecord } from '../../../modules/records/queries/records.ts';
import { formError, messageOf } from '../../components/forms.ts';
import {
  type DashboardRoute,
  type Html,
  html,
  type Refusal,
  type Reply,
  recordReaders,
  type Visit,
} from '../../components/page.ts';
import { recordFields } from '../../components/records.ts';
import {
  filledQuery,
  kindOf,
  momentParameters,
  recordCrumbs,
  recordsSection,
  refusedQuery,
} from '../../components/recordTable.ts';
import { code, time } from '../../components/text.ts';
import { momentInputs, shownMoment, zoneParameter } from '../../components/time.ts';
import { fieldPath, recordPath } from '../../components/urls.ts';
import { readHead } from './head.ts';
import {
  encounterReadiness,
  encountersThen,
  patientDocuments,
  patientEncounters,
  type RecordPart,
  readRecordParts,
} from './parts.ts';
import { type ErasedPorts, orErased, readReferredNames } from './shared.ts';

interface StatePorts extends QueryPorts, ErasedPorts {}

/** What is shown of a record: its latest state, or an earlier one and how it was asked for. */
interface Shown {
  view: RecordView;
  asked?: Record<string, unknown>;
  /** Why the latest state is shown, although another one was asked for. */
  refusal?: Refusal;
  /** The version that was asked for, where no version has that number and the latest is shown. */
  missing?: number;
}

/** `…/records/{kinds}/{id}`: a record's state, now or at a moment; for a patient also its encounters and documents. */
export function recordStateRoutes(ports: StatePorts): DashboardRoute[] {
  const path = '/workspaces/:workspace/records/:kind/:id';
  const route = (suffix: string, query: readonly string[], handle: (visit: Visit) => Promise<Reply>) =>
    orErased(ports, {
      method: 'get',
      path: suffix,
      roles: recordReaders,
      opensWithReason: true,
      query,
      handle,
    });
  const ofPatient = '/workspaces/:workspace/records/patients/:id';
  return [
    route(`${ofPatient}/encounters`, [], (visit) =>
      patientPart(ports, visit, 'encounters', patientEncounters),
    ),
    route(`${ofPatient}/documents`, [], (visit) => patientPart(ports, visit, 'documents', patientDocuments)),
    route(path, [...momentParameters, zoneParameter], (visit) => {
      const entry = kindOf(visit.req.params.kind);
      return statePage(ports, visit, entry, pathId(visit.req, 'id', entry.title));
    }),
  ];
}

const partTitles = { encounters: 'Encounters', documents: 'Documents' };

async function patientPart(
  ports: StatePorts,
  visit: Visit,
  tab: keyof typeof partTitles,
  read: typeof patientEncounters,
): Promise<Reply> {
  const { workspace, caller, req } = visit;
  const id = pathId(req, 'id', patient.title);
  const view = await readRecord(ports, workspace, patient, id);
  const [{ head, accesses }, part] = await Promise.all([
    readHead(ports, visit, patient, view, tab),
    read(ports, visit, view),
  ]);
  const subject = { action: 'record.read', kind: patient.kind, record_id: id } as const;
  await recordAccess(ports.eventLog, caller, subject, ...part.accesses, ...accesses);
  const title = partTitles[tab];
  return { page: { title, section: recordsSection, body: html`${head}\n${part.body}` } };
}

async function statePage(ports: StatePorts, visit: Visit, entry: CatalogEntry, id: string): Promise<Reply> {
  const { workspace, caller } = visit;
  const shown = await readShown(ports, visit, entry, id);
  if (shown === undefined) return beforeItsTime(visit, entry, id);
  const { view, asked, refusal } = shown;
  const [{ head, accesses: ofHead }, parts, { names, accesses }] = await Promise.all([
    readHead(ports, visit, entry, view, 'overview'),
    asked ? partsThen(ports, visit, entry, id, asked) : readRecordParts(ports, visit, entry, id),
    readReferredNames(ports, workspace, entry, [view]),
  ]);
  const subject = { kind: entry.kind, record_id: id };
  await recordAccess(
    ports.eventLog,
    caller,
    { action: 'record.read', ...subject, ...(asked && { query: asked }) },
    ...parts.flatMap((part) => part.accesses),
    ...ofHead,
    ...accesses,
  );
  const path = recordPath(workspace, entry.kind, id);
  const historyPath = (field: string) => fieldPath(workspace, entry.kind, id, field);
  const page = html`${head}
${banner(path, shown)}
<div class="page-head"><h2 id="state">${asked ? `State in version ${view.version}` : 'Current state'}</h2>
${momentForm(asked, refusal)}</div>
<div class="record-fields">${recordFields(workspace, entry, view.record, { names, historyPath })}</div>
${parts.map(({ body }) => html`<section>${body}</section>`)}`;
  return {
    page: {
      title: entry.title,
      section: recordsSection,
      status: refusal?.status ?? 200,
      body: page,
    },
  };
}

/** Nothing of a record is shown as of a time before it existed. */
function beforeItsTime({ workspace, req }: Visit, entry: CatalogEntry, id: string): Reply {
  const { as_of: asOf } = filledQuery(req);
  const path = recordPath(workspace, entry.kind, id);
  const body = html`${recordCrumbs(workspace, entry)}
<h1>${entry.title}</h1>
<p class="record-facts"><span>ID ${code(id)}</span></p>
${momentForm({ as_of: asOf }, { text: `The ${entry.kind} did not exist at that time.`, details: [] })}
<p><a href="/dashboard${path}">Show the latest version</a></p>`;
  return { page: { title: entry.title, section: recordsSection, status: statusOf.not_found, body } };
}

/** Resolves with what was below a patient or encounter at the requested time; with nothing for other requests. */
async function partsThen(
  ports: StatePorts,
  visit: Visit,
  { kind }: CatalogEntry,
  id: string,
  { as_of: asOf }: Record<string, unknown>,
): Promise<RecordPart[]> {
  if (typeof asOf !== 'string') return [];
  if (kind === encounter.kind) return [await encounterReadiness(ports, visit, id, asOf)];
  return kind === patient.kind ? [await encountersThen(ports, visit, id, instantOf(asOf))] : [];
}

/**
 * Resolves with the requested state; with the latest one, and the reason, where there is no such version; with nothing
 * as of a time before the record existed.
 */
async function readShown(
  ports: StatePorts,
  { req, workspace }: Visit,
  entry: CatalogEntry,
  id: string,
): Promise<Shown | undefined> {
  let at: ReturnType<typeof requestedMoment>;
  try {
    at = requestedMoment({ query: filledQuery(req) });
    if (at) {
      const view = await readRecordAt(ports, workspace, entry, id, at.moment);
      return { view, asked: { ...at.query } };
    }
  } catch (error) {
    const refusal = refusedQuery(error);
    const view = await readRecord(ports, workspace, entry, id);
    const isMissing = refusal.status === statusOf.not_found;
    if (isMissing && at && 'version' in at.moment) return { view, missing: at.moment.version };
    return isMissing ? undefined : { view, refusal };
  }
  return { view: await readRecord(ports, workspace, entry, id) };
}

function banner(path: string, { view: { version, updated_at }, asked, missing }: Shown): Html {
  if (missing !== undefined) {
    return html`<p class="banner"><strong>There is no version ${missing}.</strong> Showing the latest, version ${version}.</p>`;
  }
  return html`${
    asked &&
    html`<p class="banner"><strong>This is the record as it was in version ${version}</strong>, recorded on ${time(updated_at)}. ${
      version > 1 &&
      html`<a href="/dashboard${path}/compare?from=${version - 1}&amp;to=${version}">What this version changed</a> · `
    }<a href="/dashboard${path}">Show the latest version</a></p>`
  }`;
}

/** Returns the form for the state at a time, with what was wrong with it. */
function momentForm(asked: Record<string, unknown> | undefined, refusal?: Omit<Refusal, 'status'>): Html {
  const asOf = typeof asked?.as_of === 'string' ? shownMoment(asked.as_of) : '';
  const error = messageOf(refusal?.details, 'as_of');
  return html`<form method="get" class="moment no-print">
${formError(refusal)}
<div class="line">${momentInputs({ name: 'as_of', label: 'As of', step: 1, value: asOf, error })}<button type="submit" class="outline">Show</button></div>
</form>`;
}
