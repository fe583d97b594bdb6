import { z } from 'zod';
import { pageRequest, pathId } from '../../api/schemas/parameters.ts';
import { MAX_ID_LENGTH } from '../../domain/records/schema/fields.ts';
import { validate } from '../../domain/records/schema/validation.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { type Hold, type HoldStep, readHolds } from '../../modules/erasure/holdState.ts';
import { addHold, findHold, type HeldRecord, releaseHold } from '../../modules/erasure/holds.ts';
import type { RecordNames } from '../../modules/records/queries/lists.ts';
import { decodeToken, encodeToken, type PageRequest } from '../../modules/records/queries/paging.ts';
import type { PrincipalNames } from '../../modules/records/queries/principalNames.ts';
import { type QueryPorts, readRecord } from '../../modules/records/queries/records.ts';
import type { FieldMessage } from '../../platform/errors.ts';
import { confirmedChange, filterForm, input, messageOf } from '../components/forms.ts';
import { titleOf } from '../components/labels.ts';
import { breadcrumb } from '../components/layout.ts';
import {
  type DashboardRoute,
  type Html,
  holdKeepers,
  html,
  phiReaders,
  type Reply,
  textOf,
  type Visit,
} from '../components/page.ts';
import { pageLinks } from '../components/paging.ts';
import {
  filledQuery,
  kindOf,
  pageParameters,
  recordsSection,
  referredLink,
} from '../components/recordTable.ts';
import { type TableColumn, table } from '../components/tables.ts';
import { bdi, code, empty, time, wholeOnHovering } from '../components/text.ts';
import { holdsPath, holdsSection, recordPath, recordsPath } from '../components/urls.ts';
import { type RecentSearch, recentSearch, saveSearch, searchParameter } from '../http/searches.ts';
import { type ErasedPorts, orErased, readCalled, readNames } from './records/shared.ts';

interface HoldPorts extends QueryPorts, ErasedPorts {}

/**
 * Places a workspace or a record under legal hold, and ends a hold: for each, the confirmation page and the action.
 */
export function holdChangeRoutes(ports: HoldPorts): DashboardRoute[] {
  return [...workspaceHold(ports), ...recordHold(ports), ...release(ports)];
}

function workspaceHold({ eventLog }: HoldPorts): DashboardRoute[] {
  return confirmedChange({
    roles: holdKeepers,
    path: '/workspaces/:workspace/holds/new',
    find: ({ workspace }) => workspace,
    question: (workspace, _visit, details) => ({
      title: `Put workspace ${workspace} under legal hold?`,
      section: holdsSection,
      breadcrumb: toHolds(workspace),
      text: 'Until the hold is released, nobody can erase a record of the workspace. Everything else works as before.',
      fields: reasonField(details),
      button: 'Hold workspace',
      back: holdsPath(workspace),
    }),
    async make(workspace, { caller, form, notice }) {
      const id = await addHold(eventLog, caller, undefined, textOf(form, 'reason'));
      notice(`The workspace is under legal hold ${id}.`);
      return { redirect: holdsPath(workspace) };
    },
  });
}

function recordHold(ports: HoldPorts): DashboardRoute[] {
  return confirmedChange<HeldRecord>({
    roles: holdKeepers,
    path: '/workspaces/:workspace/records/:kind/:id/hold',
    async find({ req, workspace }) {
      const entry = kindOf(req.params.kind);
      const id = pathId(req, 'id', entry.title);
      await readRecord(ports, workspace, entry, id);
      return { entry, id };
    },
    question: async ({ entry: { kind }, id }, visit, details) => {
      const { called, breadcrumb } = await readCalled(ports, visit, { kind, id });
      return {
        title: `Put this ${kind} under legal hold?`,
        section: recordsSection,
        breadcrumb,
        text: html`${called}. Until the hold is released, nobody can erase it${protectedToo[kind]}. It can still be changed.`,
        fields: reasonField(details),
        button: `Hold ${kind}`,
        back: recordPath(visit.workspace, kind, id),
      };
    },
    async make(record, { caller, workspace, form, notice }) {
      const { kind } = record.entry;
      const holdId = await addHold(ports.eventLog, caller, record, textOf(form, 'reason'));
      notice(`The ${kind} is under legal hold ${holdId}.`);
      return { redirect: recordPath(workspace, kind, record.id) };
    },
  }).map((route) => orErased(ports, route));
}

/** What a hold on a record of a kind also protects. */
const protectedToo: Record<string, string | undefined> = {
  patient: ', its encounters or their documents',
  encounter: ', its documents or its patient',
};

function release(ports: HoldPorts): DashboardRoute[] {
  const { eventLog } = ports;
  return confirmedChange<Hold>({
    roles: holdKeepers,
    path: '/workspaces/:workspace/holds/:hold/release',
    async find({ req, workspace }) {
      return findHold((await readHolds(eventLog, workspace)).holds, String(req.params.hold));
    },
    question: async ({ id, record, added }, visit, details) => ({
      title: 'Release this legal hold?',
      section: holdsSection,
      breadcrumb: toHolds(visit.workspace),
      text: html`The hold ${code(id)} is on ${record ? html`the ${record.kind} ${(await readCalled(ports, visit, record)).called}` : 'the workspace'}. Its reason is “${bdi(added.reason)}”. Anything under no other hold can be erased again, also by the workspace’s retention.`,
      fields: reasonField(details),
      button: 'Release hold',
      isDangerous: true,
      back: holdsPath(visit.workspace),
    }),
    async make({ id }, { caller, workspace, form, notice }) {
      await releaseHold(eventLog, caller, id, textOf(form, 'reason'));
      notice(`Hold ${id} is released.`);
      return { redirect: holdsPath(workspace) };
    },
  });
}

function toHolds(workspace: string): Html {
  return breadcrumb([{ text: holdsSection, path: holdsPath(workspace) }]);
}

function reasonField(details?: readonly FieldMessage[]): Html {
  return input({
    name: 'reason',
    label: 'Reason',
    hint: 'For example, a case name. Do not identify anyone: the reason is kept permanently.',
    error: messageOf(details, 'reason'),
    isRequired: true,
    autocomplete: 'off',
  });
}

interface HoldPagePorts extends QueryPorts {
  names: PrincipalNames;
}

const holdStates = ['in_force', 'released'] as const;
type HoldListState = (typeof holdStates)[number];

const stateTexts: Record<HoldListState, string> = { in_force: 'In force', released: 'Released' };

const holdFilterSchema = z.object({
  state: z.enum(holdStates).default('in_force'),
  /** Of a held record, or of a hold. */
  id: z.string({ error: 'must be sent once' }).trim().max(MAX_ID_LENGTH).optional(),
});

interface HoldFilter extends z.infer<typeof holdFilterSchema> {
  /** What its reason contains, whatever the case. People call a case by the patient, so it is in no address and no log. */
  reason?: RecentSearch | undefined;
}

/** `…/holds`: a workspace's legal holds, those in force and those that were released, limited by a filter. */
export function holdsRoutes(ports: HoldPagePorts): DashboardRoute[] {
  return [
    {
      method: 'get',
      path: '/workspaces/:workspace/holds',
      roles: phiReaders,
      query: [...pageParameters, ...Object.keys(holdFilterSchema.shape), searchParameter],
      handle: (visit) => list(ports, visit),
    },
    { method: 'post', path: '/workspaces/:workspace/holds', roles: phiReaders, handle: filtered },
  ];
}

const reasonSchema = z.object({ reason: z.string().max(1_000) });

/** Takes a filter as typed; the address that follows has only a number for the reason. */
async function filtered({ req, workspace, form }: Visit): Promise<Reply> {
  const { reason } = validate(reasonSchema, { reason: textOf(form, 'reason') });
  const sought = { state: textOf(form, 'state') || undefined, id: textOf(form, 'id') || undefined };
  const number = reason === '' ? undefined : String(saveSearch(req, { workspace, text: reason }));
  return { redirect: holdsPath(workspace, { ...sought, [searchParameter]: number }) };
}

function isIn({ released }: Hold, state: HoldListState): boolean {
  return (released === undefined) === (state === 'in_force');
}

function isSought({ id, record, added, released }: Hold, sought: HoldFilter): boolean {
  const reason = sought.reason?.text.toLowerCase() ?? '';
  const said = [added.reason, released?.reason ?? ''];
  const isNamed = !sought.id || id === sought.id || record?.id === sought.id;
  return isNamed && said.some((one) => one.toLowerCase().includes(reason));
}

interface HoldList {
  items: Hold[];
  next_page_token: string | null;
  /** How many holds of each state the filter lets through. */
  counts: Record<HoldListState, number>;
}

/** Returns a page of holds, newest first. Throws `validation_failed`. */
function pageOf(
  workspace: string,
  holds: readonly Hold[],
  filter: HoldFilter,
  { limit, pageToken }: PageRequest,
): HoldList {
  const scope = ['holds', workspace, filter.state, filter.id, filter.reason?.text];
  // A place in the order in which they were added, which later holds do not move.
  const before = pageToken === undefined ? holds.length : decodeToken(pageToken, scope);
  const sought = holds.map((hold, place) => ({ hold, place })).filter(({ hold }) => isSought(hold, filter));
  const older = sought.filter(({ hold, place }) => isIn(hold, filter.state) && place < before).reverse();
  const shown = older.slice(0, limit);
  const last = shown.at(-1);
  const count = (state: HoldListState) => sought.filter(({ hold }) => isIn(hold, state)).length;
  return {
    items: shown.map(({ hold }) => hold),
    next_page_token: last && older.length > limit ? encodeToken(last.place, scope) : null,
    counts: { in_force: count('in_force'), released: count('released') },
  };
}

async function list({ names, ...ports }: HoldPagePorts, visit: Visit): Promise<Reply> {
  const { workspace, caller, req } = visit;
  const { limit: _limit, page_token: _token, [searchParameter]: number, ...asked } = filledQuery(req);
  const sought = validate(holdFilterSchema, asked);
  const request = pageRequest(req);
  const reason = typeof number === 'string' ? recentSearch(req, workspace, number) : undefined;
  if (number !== undefined && reason === undefined) {
    visit.notice('The filter by reason is no longer available. Enter the reason again.');
    return { redirect: holdsPath(workspace, sought) };
  }
  const filter = { ...sought, reason };
  const holds = [...(await readHolds(ports.eventLog, workspace)).holds.values()];
  const { items, next_page_token, counts } = pageOf(workspace, holds, filter, request);
  await names.learn(items.flatMap(({ added, released: end }) => [added.by, (end ?? added).by]));
  const records = items.flatMap(({ record }) => record ?? []);
  const covered = await readNames(ports, workspace, records);
  await recordAccess(
    ports.eventLog,
    caller,
    { action: 'hold.list', query: { ...sought, ...(reason && { for: 'reason' }), ...request } },
    ...covered.accesses,
  );
  const mayChange = visit.may(holdKeepers);
  const path = `/dashboard${holdsPath(workspace)}`;
  const body = html`<div class="page-head"><h1>Legal holds</h1>${
    mayChange &&
    html`<div class="actions"><a role="button" class="outline secondary" href="${path}/new">Hold workspace</a></div>`
  }</div>
${workspaceBanner(holds.find((hold) => hold.record === undefined && isIn(hold, 'in_force')))}
<p>A hold on a patient also covers its encounters and their documents; one on an encounter, its documents and its patient. To hold a record, open it in <a href="/dashboard${recordsPath(workspace)}">Records</a>.</p>
${holdTabs(workspace, filter, counts)}
${holds.length > 0 && filterFields(visit, filter)}
${holdTable(items, names, covered.names, visit, filter)}
${pageLinks(req, { token: next_page_token })}`;
  return { page: { title: 'Legal holds', section: holdsSection, body } };
}

function workspaceBanner(hold: Hold | undefined): Html | undefined {
  if (hold === undefined) return undefined;
  return html`<p class="banner"><strong>The whole workspace is under legal hold</strong> since ${time(hold.added.at)}: nothing of it can be erased.</p>`;
}

function holdTabs(
  workspace: string,
  { state: current, reason, id }: HoldFilter,
  counts: HoldList['counts'],
): Html {
  return html`<nav class="tabs" aria-label="States"><ul>${holdStates.map(
    (state) =>
      html`<li><a href="/dashboard${holdsPath(workspace, { state, id, [searchParameter]: reason && String(reason.number) })}"${
        state === current && html` aria-current="page"`
      }>${stateTexts[state]} <strong>${counts[state].toLocaleString('en-US')}</strong></a></li>`,
  )}</ul></nav>`;
}

function filterFields({ workspace, csrf }: Visit, { state, reason, id }: HoldFilter): Html {
  return filterForm({
    path: `/dashboard${holdsPath(workspace)}`,
    csrf,
    limits: { reason, id },
    fields: html`<input type="hidden" name="state" value="${state}">
${input({ name: 'reason', label: 'Reason contains', type: 'search', value: reason?.text, autocomplete: 'off' })}
${input({ name: 'id', label: 'Record or hold ID', type: 'search', value: id, autocomplete: 'off' })}`,
  });
}

function holdTable(
  holds: readonly Hold[],
  principals: PrincipalNames,
  covered: RecordNames | undefined,
  { workspace, may }: Visit,
  { state, reason, id: soughtId }: HoldFilter,
): Html {
  if (holds.length === 0) {
    if (reason || soughtId) return empty('No holds match.');
    return empty(
      state === 'in_force'
        ? html`No legal hold is in force. To put a record under hold, find it in <a href="/dashboard${recordsPath(workspace)}">Records</a>.`
        : 'No hold was released.',
    );
  }
  const by = (step: HoldStep) => principals.nameOf(step.by) ?? step.by.id;
  const columnsOf = (when: string, why: string, stepOf: (hold: Hold) => HoldStep): TableColumn<Hold>[] => [
    { title: why, isCut: true, cell: (hold) => wholeOnHovering(stepOf(hold).reason) },
    {
      title: when,
      cell: (hold) =>
        html`${time(stepOf(hold).at)} <small class="muted" title="${by(stepOf(hold))}">by ${bdi(by(stepOf(hold)))}</small>`,
    },
  ];
  const release: TableColumn<Hold> = {
    title: 'Actions',
    isTitleHidden: true,
    cell: ({ id }) =>
      html`<a href="/dashboard${holdsPath(workspace)}/${id}/release" aria-label="Release ${id}">Release</a>`,
  };
  return html`<div class="dense">${table(
    `Holds: ${stateTexts[state].toLowerCase()}`,
    [
      {
        title: 'Covers',
        ...{ isHeader: true, isCut: true },
        cell: ({ record }) =>
          record === undefined
            ? 'The workspace'
            : html`<span class="muted">${titleOf(record.kind)}</span> ${referredLink(workspace, record.kind, record.id, covered)}`,
      },
      ...columnsOf('Placed', 'Reason', ({ added }) => added),
      ...(state === 'in_force'
        ? []
        : columnsOf('Released', 'Reason of the release', ({ added, released = added }) => released)),
      { title: 'Hold', cell: ({ id }) => code(id) },
      ...(state === 'in_force' && may(holdKeepers) ? [release] : []),
    ],
    holds,
  )}</div>`;
}
