import { recordAccess } from '../../modules/audit/recordAccess.ts';
import type { Hold, HoldStep } from '../../modules/erasure/holdState.ts';
import { readHolds } from '../../modules/erasure/readHolds.ts';
import type { PrincipalNames } from '../../modules/records/queries/PrincipalNames.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { holdsPath, holdsSection } from '../components/holdPaths.ts';
import { type Html, html } from '../components/html.ts';
import { recordPath, recordsPath } from '../components/recordPaths.ts';
import { type DashboardRoute, holdKeepers, phiReaders, type Reply, type Visit } from '../components/route.ts';
import { table } from '../components/table.ts';
import { code, empty, time } from '../components/text.ts';
import { titleOf } from '../components/words.ts';

export interface HoldPagePorts {
  eventLog: EventLog;
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

async function list({ eventLog, names }: HoldPagePorts, visit: Visit): Promise<Reply> {
  const { workspace, caller } = visit;
  const { holds } = await readHolds(eventLog, workspace);
  const newestFirst = [...holds.values()].reverse();
  const inForce = newestFirst.filter(({ released }) => released === undefined);
  const released = newestFirst.filter((hold) => hold.released !== undefined);
  await names.learn(newestFirst.flatMap(({ added, released: end }) => [added.by, (end ?? added).by]));
  await recordAccess(eventLog, caller, { action: 'hold.list', query: { all: true } });
  const mayChange = visit.may(holdKeepers);
  const path = `/dashboard${holdsPath(workspace)}`;
  const body = html`<div class="page-head"><h1>Legal holds</h1>${
    mayChange &&
    html`<div class="actions"><a role="button" class="outline secondary" href="${path}/new">Hold workspace</a></div>`
  }</div>
<p>While a hold is in force, nobody can erase what it covers. A hold on a patient also covers its encounters and their documents; a hold on an encounter also covers its documents and its patient. To put a record under hold, open its page.</p>
${inForce.length === 0 ? empty(html`No legal hold is in force. To put a record under hold, find it in <a href="/dashboard${recordsPath(workspace)}">Records</a>.`) : holdTable('Holds in force', inForce, names, visit, mayChange)}
${released.length > 0 && html`<h2>Released</h2>${holdTable('Released holds', released, names, visit, false)}`}`;
  return { page: { title: 'Legal holds', section: holdsSection, body } };
}

function holdTable(
  label: string,
  holds: readonly Hold[],
  names: PrincipalNames,
  { workspace }: Visit,
  withActions: boolean,
): Html {
  const step = ({ at, by, reason }: HoldStep) =>
    html`${time(at)}<br>${reason}<br><small class="muted">${names.nameOf(by) ?? by.id}</small>`;
  return table(
    label,
    [
      { title: 'Hold', isHeader: true, cell: ({ id }) => code(id) },
      {
        title: 'Covers',
        cell: ({ record }) =>
          record === undefined
            ? 'The workspace'
            : html`${titleOf(record.kind)} <a href="/dashboard${recordPath(workspace, record.kind, record.id)}">${record.id}</a>`,
      },
      { title: 'Added', cell: ({ added }) => step(added) },
      ...(holds.some(({ released }) => released)
        ? [{ title: 'Released', cell: ({ released }: Hold) => released && step(released) }]
        : []),
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
  );
}
