import { pathId } from '../../api/schemas/parameters.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { type Hold, type HoldStep, readHolds } from '../../modules/erasure/holdState.ts';
import { addHold, findHold, type HeldRecord, releaseHold } from '../../modules/erasure/holds.ts';
import type { RecordNames } from '../../modules/records/queries/lists.ts';
import type { PrincipalNames } from '../../modules/records/queries/principalNames.ts';
import { type QueryPorts, readRecord } from '../../modules/records/queries/records.ts';
import type { FieldMessage } from '../../platform/errors.ts';
import { confirmedChange, input, messageOf } from '../components/forms.ts';
import { titleOf } from '../components/labels.ts';
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
import { kindOf, recordsSection, referredLink } from '../components/recordTable.ts';
import { type TableColumn, table } from '../components/tables.ts';
import { bdi, code, empty, time, wholeOnHovering } from '../components/text.ts';
import { holdsPath, holdsSection, recordPath, recordsPath } from '../components/urls.ts';
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
    question: async ({ entry: { kind }, id }, visit, details) => ({
      title: `Put this ${kind} under legal hold?`,
      section: recordsSection,
      text: html`${(await readCalled(ports, visit, { kind, id })).called}. Until the hold is released, nobody can erase it${protectedToo[kind]}. It can still be changed.`,
      fields: reasonField(details),
      button: `Hold ${kind}`,
      back: recordPath(visit.workspace, kind, id),
    }),
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
      text: html`${bdi(added.reason)}, on ${record ? html`the ${record.kind} ${(await readCalled(ports, visit, record)).called}` : 'the workspace'} (${code(id)}). Anything under no other hold can be erased again, also by the workspace’s retention.`,
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

/** `…/holds`: a workspace's legal holds, those in force and those that were released. */
export function holdsRoutes(ports: HoldPagePorts): DashboardRoute[] {
  return [
    {
      method: 'get',
      path: '/workspaces/:workspace/holds',
      roles: phiReaders,
      handle: (visit) => list(ports, visit),
    },
  ];
}

async function list({ names, ...ports }: HoldPagePorts, visit: Visit): Promise<Reply> {
  const { workspace, caller } = visit;
  const { holds } = await readHolds(ports.eventLog, workspace);
  const newestFirst = [...holds.values()].reverse();
  const inForce = newestFirst.filter(({ released }) => released === undefined);
  const released = newestFirst.filter((hold) => hold.released !== undefined);
  await names.learn(newestFirst.flatMap(({ added, released: end }) => [added.by, (end ?? added).by]));
  const covered = await readNames(
    ports,
    workspace,
    newestFirst.flatMap(({ record }) => record ?? []),
  );
  await recordAccess(
    ports.eventLog,
    caller,
    { action: 'hold.list', query: { all: true } },
    ...covered.accesses,
  );
  const mayChange = visit.may(holdKeepers);
  const path = `/dashboard${holdsPath(workspace)}`;
  const body = html`<div class="page-head"><h1>Legal holds</h1>${
    mayChange &&
    html`<div class="actions"><a role="button" class="outline secondary" href="${path}/new">Hold workspace</a></div>`
  }</div>
<p>While a hold is in force, nobody can erase what it covers. A hold on a patient also covers its encounters and their documents; a hold on an encounter also covers its documents and its patient. To put a record under hold, open its page.</p>
${inForce.length === 0 ? empty(html`No legal hold is in force. To put a record under hold, find it in <a href="/dashboard${recordsPath(workspace)}">Records</a>.`) : holdTable('Holds in force', inForce, names, covered.names, visit, mayChange)}
${released.length > 0 && html`<h2>Released</h2>${holdTable('Released holds', released, names, covered.names, visit, false)}`}`;
  return { page: { title: 'Legal holds', section: holdsSection, body } };
}

function holdTable(
  label: string,
  holds: readonly Hold[],
  principals: PrincipalNames,
  covered: RecordNames | undefined,
  { workspace }: Visit,
  withActions: boolean,
): Html {
  const columnsOf = (when: string, why: string, stepOf: (hold: Hold) => HoldStep): TableColumn<Hold>[] => [
    { title: why, isCut: true, cell: (hold) => wholeOnHovering(stepOf(hold).reason) },
    { title: when, cell: (hold) => time(stepOf(hold).at) },
    {
      title: `${when} by`,
      isCut: true,
      cell: (hold) => bdi(principals.nameOf(stepOf(hold).by) ?? stepOf(hold).by.id),
    },
  ];
  return html`<div class="dense">${table(
    label,
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
      ...(withActions
        ? []
        : columnsOf('Released', 'Reason of the release', ({ added, released = added }) => released)),
      { title: 'Hold', cell: ({ id }) => code(id) },
      ...(withActions
        ? [
            {
              title: 'Actions',
              isTitleHidden: true,
              cell: ({ id }: Hold) =>
                html`<a href="/dashboard${holdsPath(workspace)}/${id}/release" aria-label="Release ${id}">Release</a>`,
            },
          ]
        : []),
    ],
    holds,
  )}</div>`;
}
