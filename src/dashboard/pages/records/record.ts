import { pathId, requestedMoment } from '../../../api/schemas/parameters.ts';
import { statusOf } from '../../../api/server/answer.ts';
import { encounter } from '../../../domain/records/kinds/encounter.ts';
import { patient } from '../../../domain/records/kinds/patient.ts';
import { instantOf } from '../../../domain/records/schema/isoDates.ts';
import { type CatalogEntry, recordName } from '../../../domain/records/schema/kind.ts';
import { recordAccess } from '../../../modules/audit/recordAccess.ts';
import { currentHolding } from '../../../modules/erasure/holdState.ts';
import { findReferrers } from '../../../modules/erasure/references.ts';
import { readRecordAt } from '../../../modules/records/queries/history.ts';
import { type QueryPorts, type RecordView, readRecord } from '../../../modules/records/queries/records.ts';
import type { ServiceError } from '../../../platform/errors.ts';
import { formError, input } from '../../components/forms.ts';
import { olderVersions, timeline } from '../../components/history.ts';
import {
  admins,
  type DashboardRoute,
  type Html,
  holdKeepers,
  html,
  phiReaders,
  type Reply,
  recordReaders,
  type Visit,
} from '../../components/page.ts';
import { heldBanner, recordFields } from '../../components/records.ts';
import {
  filledQuery,
  kindOf,
  momentParameters,
  pageParameters,
  recordCrumbs,
  recordsSection,
  refusedQuery,
  unlessBehind,
} from '../../components/recordTable.ts';
import { code, time } from '../../components/text.ts';
import { momentInputs, shownMoment, zoneParameter } from '../../components/time.ts';
import {
  disclosuresPath,
  erasePath,
  fieldPath,
  filteredPath,
  proofPath,
  recordHoldPath,
  recordPath,
  seenPath,
  timelinePath,
} from '../../components/urls.ts';
import { encounterReadiness, encountersThen, type RecordPart, readRecordParts } from './parts.ts';
import { type ErasedPorts, orErased, readReferredNames, readTimeline } from './shared.ts';

interface StatePorts extends QueryPorts, ErasedPorts {}

/** What is shown of a record: its latest state, or an earlier one and how it was asked for. */
interface Shown {
  view: RecordView;
  asked?: Record<string, unknown>;
  /** Why the latest state is shown, although another one was asked for. */
  refusal?: ServiceError;
  /** The version that was asked for, where no version has that number and the latest is shown. */
  missing?: number;
}

/** `…/records/{kinds}/{id}`: a record's state, now or at a moment, next to its timeline. */
export function recordStateRoutes(ports: StatePorts): DashboardRoute[] {
  return [
    orErased(ports, {
      method: 'get',
      path: '/workspaces/:workspace/records/:kind/:id',
      roles: recordReaders,
      query: [...momentParameters, ...pageParameters, zoneParameter],
      async handle(visit) {
        const entry = kindOf(visit.req.params.kind);
        const id = pathId(visit.req, 'id', entry.title);
        const isPart = visit.req.get('HX-Request') !== undefined;
        return isPart ? olderPart(ports, visit, entry, id) : statePage(ports, visit, entry, id);
      },
    }),
  ];
}

/** Resolves with older versions only, for the timeline of an open page. */
async function olderPart(ports: StatePorts, visit: Visit, entry: CatalogEntry, id: string): Promise<Reply> {
  const { versions, access } = await readTimeline(ports, visit, entry, id);
  await recordAccess(ports.eventLog, visit.caller, access);
  const { workspace } = visit;
  return { fragment: olderVersions(workspace, recordPath(workspace, entry.kind, id), versions) };
}

async function statePage(ports: StatePorts, visit: Visit, entry: CatalogEntry, id: string): Promise<Reply> {
  const { workspace, caller, req } = visit;
  const shown = await readShown(ports, visit, entry, id);
  const { view, asked, refusal } = shown;
  const [{ versions, access }, holding, parts, { names, accesses }] = await Promise.all([
    readTimeline(ports, visit, entry, id, asked && view.version),
    readHolding(ports, workspace, entry, id),
    asked ? partsThen(ports, visit, entry, id, asked) : readRecordParts(ports, visit, entry, id),
    readReferredNames(ports, workspace, entry, [view]),
  ]);
  const subject = { kind: entry.kind, record_id: id };
  await recordAccess(
    ports.eventLog,
    caller,
    { action: 'record.read', ...subject, ...(asked && { query: asked }) },
    access,
    ...parts.flatMap((part) => part.accesses),
    ...accesses,
  );
  const path = recordPath(workspace, entry.kind, id);
  const isOlderPage = asked !== undefined || filledQuery(req).page_token !== undefined;
  const historyPath = (field: string) => fieldPath(workspace, entry.kind, id, field);
  const page = html`${recordCrumbs(workspace, entry)}
${heading(visit, entry, path, view)}
${heldBanner(workspace, entry.kind, holding)}
${banner(path, shown)}
<div class="record-columns">
<section aria-labelledby="state">
<h2 id="state">${asked ? `State in version ${view.version}` : 'Current state'}</h2>
${recordFields(workspace, entry, view.record, { names, historyPath })}
${parts.map(({ body }) => body)}
</section>
<section aria-labelledby="timeline">
<h2 id="timeline">Timeline</h2>
${momentForms(asked, refusal)}
${isOlderPage && html`<p><a href="/dashboard${path}#timeline">Go to latest versions</a></p>`}
${timeline(workspace, path, versions, view.version)}
</section>
</div>`;
  return {
    page: {
      title: entry.title,
      section: recordsSection,
      status: refusal ? statusOf[refusal.code] : 200,
      body: page,
    },
  };
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

/** Resolves with the requested state; with the latest one, and the reason, where there is no such state. */
async function readShown(
  ports: StatePorts,
  { req, workspace }: Visit,
  entry: CatalogEntry,
  id: string,
): Promise<Shown> {
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
    if (refusal.code === 'not_found' && at && 'version' in at.moment)
      return { view, missing: at.moment.version };
    return { view, refusal };
  }
  return { view: await readRecord(ports, workspace, entry, id) };
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

function heading(
  { workspace, may }: Visit,
  { kind, title }: CatalogEntry,
  path: string,
  view: RecordView,
): Html {
  const { id, version, record, created_at, updated_at } = view;
  return html`<div class="record-heading">
<h1>${title} ${recordName(record)}</h1>
<p class="actions"><a role="button" class="outline secondary" href="/dashboard${path}/print">Printable page</a>
${
  may(phiReaders) &&
  html`<a role="button" class="outline secondary" href="/dashboard${seenPath(workspace, kind, id)}">Who has seen it</a>
<a role="button" class="outline secondary" href="/dashboard${proofPath(workspace, kind, id, version)}">Signed proof</a>`
}
${belowLink(workspace, kind, id)}
${
  kind === patient.kind &&
  may(phiReaders) &&
  html`<a role="button" class="outline secondary" href="/dashboard${disclosuresPath(workspace, id)}">Disclosures</a>`
}
${
  may(holdKeepers) &&
  html`<a role="button" class="outline secondary" href="/dashboard${recordHoldPath(workspace, kind, id)}">Hold</a>`
}
${
  may(admins) &&
  html`<a role="button" class="outline secondary" href="/dashboard${erasePath(workspace, kind, id)}">Erase</a>`
}</p>
</div>
<p class="record-facts"><span>ID ${code(id)}</span> <span>version ${version}</span> <span>created ${time(created_at)}</span> <span>last change ${time(updated_at)}</span></p>`;
}

/** Returns the link to what is below a record: the timeline of it all, or the encounters that refer to it. */
function belowLink(workspace: string, kind: string, id: string): Html {
  if (kind === patient.kind || kind === encounter.kind) {
    return html`<a role="button" class="outline secondary" href="/dashboard${timelinePath(workspace, kind, id)}">Whole timeline</a>`;
  }
  const field = encounter.filters.find((one) => one.field === `${kind}_id`)?.field;
  return html`${
    field &&
    html`<a role="button" class="outline secondary" href="/dashboard${filteredPath(workspace, encounter.kind, { [field]: id })}">Encounters</a>`
  }`;
}

function banner(path: string, { view: { version, updated_at }, asked, missing }: Shown): Html {
  if (missing !== undefined) {
    return html`<p class="banner"><strong>There is no version ${missing}.</strong> Showing the latest, version ${version}.</p>`;
  }
  return html`${
    asked &&
    html`<p class="banner"><strong>This is the record as it was in version ${version}</strong>, recorded at ${time(updated_at)}. <a href="/dashboard${path}">Show the latest version</a></p>`
  }`;
}

/** Returns two forms: for the state at a time, and for a version. */
function momentForms(asked: Record<string, unknown> | undefined, refusal: ServiceError | undefined): Html {
  const asOf = typeof asked?.as_of === 'string' ? shownMoment(asked.as_of) : '';
  return html`${formError(refusal?.message)}
<div class="moments no-print"><form method="get" class="moment">
<div class="line">${momentInputs({ name: 'as_of', label: 'As of', step: 1, value: asOf })}<button type="submit" class="outline">Show</button></div>
</form>
<form method="get" class="moment">
<div class="line">${input({
    name: 'version',
    label: 'Version number',
    type: 'number',
    min: 1,
    value: String(asked?.version ?? ''),
  })}<button type="submit" class="outline">Go</button></div>
</form></div>`;
}
