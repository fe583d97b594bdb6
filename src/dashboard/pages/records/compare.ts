import { z } from 'zod';
import { momentQuerySchema, pathId } from '../../../api/schemas/parameters.ts';
import { statusOf } from '../../../api/server/answer.ts';
import type { DisclosureTerms } from '../../../domain/events/payloads.ts';
import { recordStream } from '../../../domain/events/streams.ts';
import type { DocumentView } from '../../../domain/records/document.ts';
import { diffFields, dottedFields, type FieldChange } from '../../../domain/records/fold.ts';
import { encounter } from '../../../domain/records/kinds/encounter.ts';
import { type CatalogEntry, fieldOrder } from '../../../domain/records/schema/kind.ts';
import { validate } from '../../../domain/records/schema/validation.ts';
import { type AccessRecorded, recordAccess } from '../../../modules/audit/recordAccess.ts';
import { listDocuments } from '../../../modules/records/queries/documents.ts';
import {
  type RecordVersion,
  readRecordAt,
  readRecordHistory,
} from '../../../modules/records/queries/history.ts';
import type { RecordNames } from '../../../modules/records/queries/lists.ts';
import type { Page as ListPage } from '../../../modules/records/queries/paging.ts';
import { type QueryPorts, type RecordView, readRecord } from '../../../modules/records/queries/records.ts';
import { asUnreadable, UnreadableError } from '../../../platform/errors.ts';
import {
  formError,
  handedOut,
  handedOutForm,
  input,
  messageOf,
  select,
  termsText,
} from '../../components/forms.ts';
import { changeWord, printedVersion, type ShownValue } from '../../components/history.ts';
import { fieldLabel } from '../../components/labels.ts';
import {
  type DashboardRoute,
  type Html,
  type HtmlValue,
  html,
  type Refusal,
  type Reply,
  recordReaders,
  type Visit,
  viewerPreferences,
  zonedTime,
} from '../../components/page.ts';
import { linkedValue, printedDocuments, recordFields } from '../../components/records.ts';
import {
  kindOf,
  recordCrumbs,
  recordsSection,
  refusedQuery,
  unlessBehind,
} from '../../components/recordTable.ts';
import { definitionList, table } from '../../components/tables.ts';
import { code, time, tryAgain } from '../../components/text.ts';
import { recordPath } from '../../components/urls.ts';
import { evidenceFooter, type FooterPorts } from './evidenceFooter.ts';
import { readTitle } from './head.ts';
import { type ErasedPorts, orErased, readNames, readReferredNames, referredIn } from './shared.ts';

const { version } = momentQuerySchema.shape;
const querySchema = z.object({ from: version.unwrap(), to: version.unwrap() });

interface ComparePorts extends QueryPorts, ErasedPorts {}

/** `…/records/{kinds}/{id}/compare?from=1&to=3`: two versions of a record, field by field. */
export function recordCompareRoutes(ports: ComparePorts): DashboardRoute[] {
  return [
    orErased(ports, {
      method: 'get',
      path: '/workspaces/:workspace/records/:kind/:id/compare',
      roles: recordReaders,
      opensWithReason: true,
      query: Object.keys(querySchema.shape),
      handle: (visit) => comparePage(ports, visit),
    }),
  ];
}

interface Comparison {
  from: RecordView;
  to: RecordView;
  /** What the record is called in the later one. */
  name: Html;
  /** Names of what both refer to. */
  names: RecordNames | undefined;
}

async function comparePage(ports: ComparePorts, visit: Visit): Promise<Reply> {
  const { eventLog } = ports;
  const { req, workspace, caller } = visit;
  const entry = kindOf(req.params.kind);
  const id = pathId(req, 'id', entry.title);
  const read = (version: number) => readRecordAt(ports, workspace, entry, id, { version });
  const versions = await listVersions(ports, workspace, entry, id);
  const subject = { kind: entry.kind, record_id: id };
  const accesses: AccessRecorded[] = versions
    ? [{ action: 'record.history', ...subject, query: { limit: MOST_LISTED } }]
    : [];
  let compared: Comparison | undefined;
  let refusal: Refusal | undefined;
  try {
    const asked = validate(querySchema, req.query);
    const [from, to] = await Promise.all([read(asked.from), read(asked.to)]);
    const titled = await readTitle(ports, workspace, entry, to);
    const referred = await readReferredNames(ports, workspace, entry, [from, to]);
    compared = { from, to, name: titled.name, names: referred.names };
    accesses.unshift(
      { action: 'record.read', ...subject, query: { version: asked.from } },
      { action: 'record.read', ...subject, query: { version: asked.to } },
      ...titled.accesses,
      ...referred.accesses,
    );
  } catch (error) {
    refusal = refusedQuery(error);
    // A record whose id is in use again has other versions to compare.
    if (refusal.status === statusOf.gone) await readRecord(ports, workspace, entry, id);
  }
  const [first, ...others] = accesses;
  if (first) await recordAccess(eventLog, caller, first, ...others);
  const body = html`${recordCrumbs(workspace, entry, { id, name: compared?.name })}
<h1>Compare versions${compared && html` of ${compared.name}`}</h1>
${versionForm(req.query, versions, refusal)}
${compared && comparison(workspace, entry, compared)}`;
  const { status } = refusal ?? {};
  return { page: { title: 'Compare versions', section: recordsSection, body, ...(status && { status }) } };
}

/** Versions among which is chosen; of a record with more, their numbers are typed. */
const MOST_LISTED = 100;

/** Resolves with the versions of a record that can be compared, newest first; undefined where they are too many, or one cannot be read. */
async function listVersions(
  ports: ComparePorts,
  workspace: string,
  entry: CatalogEntry,
  id: string,
): Promise<RecordVersion[] | undefined> {
  const request = { limit: MOST_LISTED, pageToken: undefined };
  const history = await readRecordHistory(ports, workspace, entry, id, request).catch(asUnreadable);
  if (history instanceof UnreadableError || history.next_page_token !== null) return undefined;
  const erased = history.items.findIndex(({ outcome }) => outcome === 'erased');
  return erased === -1 ? history.items : history.items.slice(0, erased);
}

function versionForm(
  query: Visit['req']['query'],
  versions: readonly RecordVersion[] | undefined,
  refusal: Refusal | undefined,
): Html {
  const { timeZone = 'UTC' } = viewerPreferences();
  const options = versions?.map(({ version, recorded_at, principal: { name, id } }) => ({
    value: String(version),
    text: `${version}: ${zonedTime(recorded_at, timeZone)}, ${name ?? id}`,
  }));
  const field = (name: 'from' | 'to', label: string) => {
    const value = [query[name] ?? ''].flat().join();
    const error = messageOf(refusal?.details, name);
    return options
      ? select({ name, label, value, error, options })
      : input({ name, label, value, error, type: 'number', min: 1, isRequired: true });
  };
  return html`<form method="get" class="moment">
${formError(refusal)}
<div class="line">${field('from', 'From version')}${field('to', 'To version')}<button type="submit" class="outline">Compare</button></div>
</form>`;
}

interface Row {
  field: string;
  from: unknown;
  to: unknown;
  change: FieldChange | undefined;
}

/** Returns every field that either version has, in the order of the schema. */
function rowsOf(entry: CatalogEntry, { from, to }: Pick<Comparison, 'from' | 'to'>): Row[] {
  const [old, now] = [dottedFields(from.record), dottedFields(to.record)];
  const changes = new Map(diffFields(from.record, to.record).map((change) => [change.field, change]));
  const place = fieldOrder(entry);
  return [...new Set([...old.keys(), ...now.keys()])]
    .sort((a, b) => place(a) - place(b))
    .map((field) => ({ field, from: old.get(field), to: now.get(field), change: changes.get(field) }));
}

function comparison(workspace: string, entry: CatalogEntry, compared: Comparison): Html {
  const { from, to, names } = compared;
  const { differing = [], same = [] } = Object.groupBy(rowsOf(entry, compared), ({ change }) =>
    change === undefined ? 'same' : 'differing',
  );
  const shown = (field: string, value: unknown) => linkedValue(workspace, entry, field, value, names);
  const version = (side: 'from' | 'to', marked: (value: HtmlValue) => Html) => ({
    title: `Version ${compared[side].version}`,
    cell: (row: Row) => {
      const value = shown(row.field, row[side]);
      return row[side] === undefined ? value : marked(value);
    },
  });
  const field = { title: 'Field', isHeader: true, cell: ({ field }: Row) => fieldLabel(field) };
  const count = differing.length === 1 ? 'One field differs.' : `${differing.length || 'No'} fields differ.`;
  return html`<p><strong>${count}</strong> <span class="muted">Version ${from.version} was recorded on ${time(from.updated_at)}, version ${to.version} on ${time(to.updated_at)}.</span></p>
${
  differing.length > 0 &&
  table<Row>(
    'Fields that differ',
    [
      field,
      version('from', (value) => html`<del>${value}</del>`),
      version('to', (value) => html`<ins>${value}</ins>`),
      {
        title: 'Difference',
        cell: ({ change }) => change && html`<span class="change-word">${changeWord(change)}</span>`,
      },
    ],
    differing,
  )
}
${
  same.length > 0 &&
  html`<h2>The same in both</h2>
${table<Row>('Fields that are the same', [field, { title: 'Value', cell: (row) => shown(row.field, row.to) }], same)}`
}`;
}

/** Maximum number of versions, and of documents, that are printed. */
const MAX_PRINTED = 1000;
const most = MAX_PRINTED.toLocaleString('en-US');

interface PrintPorts extends FooterPorts, ErasedPorts {}

/** `…/records/{kinds}/{id}/print`: a record's current state and its whole timeline, for paper. */
export function recordPrintRoutes(ports: PrintPorts): DashboardRoute[] {
  const route = (method: DashboardRoute['method']) =>
    orErased(ports, {
      method,
      path: '/workspaces/:workspace/records/:kind/:id/print',
      roles: recordReaders,
      query: [],
      handle: (visit) => printPage(ports, visit),
    });
  return [route('get'), route('post')];
}

async function printPage(ports: PrintPorts, visit: Visit): Promise<Reply> {
  const { req, workspace } = visit;
  const { caller, terms } = handedOut(visit);
  const entry = kindOf(req.params.kind);
  const id = pathId(req, 'id', entry.title);
  const request = { limit: MAX_PRINTED, pageToken: undefined };
  const history = await readRecordHistory(ports, workspace, entry, id, request);
  // The state that the newest of these versions created, whatever was sent since.
  const version = history.items[0]?.version as number;
  const view = await readRecordAt(ports, workspace, entry, id, { version });
  const documents =
    entry.kind === encounter.kind && (await unlessBehind(listDocuments(ports, workspace, id, request)));
  const named = await readTitle(ports, workspace, entry, view);
  const changes = history.items.flatMap((one) => one.changes);
  const { names, accesses: ofNames } = await readNames(ports, workspace, referredIn(entry, changes));
  const shown: ShownValue = (value, field) => linkedValue(workspace, entry, field, value, names);
  const query = { limit: MAX_PRINTED };
  const accesses: AccessRecorded[] = [{ action: 'record.history', kind: entry.kind, record_id: id, query }];
  if (documents) accesses.push({ action: 'document.list', kind: 'document', record_id: id, query });
  await recordAccess(
    ports.eventLog,
    caller,
    { action: 'record.read', kind: entry.kind, record_id: id, query: { version } },
    ...accesses,
    ...named.accesses,
    ...ofNames,
  );
  const footer = await evidenceFooter(ports, recordStream(workspace, entry.kind, id), version);
  const body = html`<div class="paper">
<p class="actions"><a role="button" class="outline secondary" href="/dashboard${recordPath(workspace, entry.kind, id)}">Back to record</a>
<button type="button" data-print hidden>Print or save as PDF</button></p>
<h1>${named.title}</h1>
${printedFacts(visit, view, terms)}
${handedOutForm(visit, `/dashboard${recordPath(workspace, entry.kind, id)}/print`, 'Set recipient', terms)}
<h2>Current state</h2>
${recordFields(workspace, entry, view.record, { names })}
${entry.kind === encounter.kind && documentSection(documents || undefined, req.originalUrl)}
<h2>Timeline</h2>
${timelineSection(workspace, history, shown)}
${footer}
</div>`;
  return { page: { title: `${entry.title}, printable`, section: recordsSection, body } };
}

/** Returns which record it is, and who had it printed when. */
function printedFacts(
  { workspace, user, requestId }: Visit,
  view: RecordView,
  terms: DisclosureTerms | undefined,
): Html {
  const { id, version, created_at, updated_at } = view;
  const now = new Date().toISOString();
  return definitionList([
    ['ID', code(id)],
    ['Workspace', code(workspace)],
    ['Version', version],
    ['Created', time(created_at)],
    ['Last change', time(updated_at)],
    ['Printed', html`${time(now)} by ${user.name}, request ${code(requestId)}`],
    ...(terms === undefined ? [] : ([['Recipient', termsText(terms)]] as const)),
  ]);
}

function documentSection(list: ListPage<DocumentView> | undefined, address: string): Html {
  return html`<h2>Documents</h2>
${list ? printedDocuments(list.items) : tryAgain(address)}
${list?.next_page_token && html`<p>Only the first ${most} documents are printed here.</p>`}`;
}

function timelineSection(
  workspace: string,
  { items, next_page_token }: ListPage<RecordVersion>,
  shown: ShownValue,
): Html {
  const all = items.length === 1 ? 'The only version.' : `All ${items.length} versions, newest first.`;
  const newest = `The newest ${most} versions, newest first. Older ones are not printed here.`;
  return html`<p>${next_page_token === null ? all : newest}</p>
${items.map((version) => printedVersion(workspace, version, shown))}`;
}
