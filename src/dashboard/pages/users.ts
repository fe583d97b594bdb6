import type { PrincipalUse } from '../../../projections/auditTally.ts';
import { INSTALLATION } from '../../domain/events/streamNames.ts';
import { lastUses } from '../../modules/audit/auditTallies.ts';
import { UserLinks } from '../../modules/auth/UserLinks.ts';
import { type User, withRole } from '../../modules/auth/user.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { formError, input, messageOf } from '../components/formFields.ts';
import { type Html, html } from '../components/html.ts';
import { roleFields, roleSent } from '../components/role.ts';
import { admins, type DashboardRoute, type Page, type Visit } from '../components/route.ts';
import { type Refusal, refusalOf, textOf } from '../components/sentForm.ts';
import { table } from '../components/table.ts';
import { time, timeAgo } from '../components/text.ts';
import { roleList, signsInBy, userState } from '../components/userFacts.ts';
import { toMadeInvitation, usersSection } from './invitationMadePage.ts';
import type { UserPagePorts } from './user.ts';

export interface UsersPagePorts extends UserPagePorts {
  readModels: ReadModels;
}

/** Settings, Users: list and create; each user has a page of their own. */
export function usersRoutes(ports: UsersPagePorts): DashboardRoute[] {
  const { users } = ports;
  const list = async (visit: Visit, refusal?: Refusal) => {
    const [uses] = await Promise.all([lastUses(ports, INSTALLATION), users.refresh()]);
    return { page: listPage(ports, uses, visit, refusal) };
  };
  return [
    { method: 'get', path: '/users', roles: admins, handle: (visit) => list(visit) },
    {
      method: 'post',
      path: '/users',
      roles: admins,
      async handle(visit) {
        const { form, actor } = visit;
        try {
          const { role, workspaces } = roleSent(form, ports.directory);
          const invited = { name: textOf(form, 'name'), roles: withRole({}, role, workspaces) };
          return toMadeInvitation(visit, await new UserLinks(users, actor).invite(invited));
        } catch (error) {
          return list(visit, refusalOf(error));
        }
      },
    },
  ];
}

function listPage(
  { users, directory }: UsersPagePorts,
  uses: Map<string, PrincipalUse>,
  { csrf, form }: Visit,
  refusal?: Refusal,
): Page {
  return {
    title: 'Users',
    section: usersSection,
    ...(refusal && { status: refusal.status }),
    body: html`<h1>Users</h1>
<p>Users sign in to this dashboard. Programs use API keys, which belong to a workspace.</p>
${userTable(users.all(), uses)}
<h2>Invite a user</h2>
<p>You get a link that lets the user choose a password, which nobody else learns.</p>
${refusal?.details.length === 0 && formError(refusal.text)}
<form method="post" action="/dashboard/users">${csrf}
${input({
  name: 'name',
  label: 'Name',
  value: textOf(form, 'name'),
  isRequired: true,
  autocomplete: 'off',
  hint: 'The user signs in with this name, usually an email address. It cannot be changed later.',
  error: messageOf(refusal?.details, 'name'),
})}
${roleFields(directory, { form, refusal })}
<div class="actions"><button type="submit">Invite user</button></div>
</form>`,
  };
}

function userTable(users: User[], uses: Map<string, PrincipalUse>): Html {
  return table(
    'Users',
    [
      {
        title: 'User',
        isHeader: true,
        cell: ({ id, name }) => html`<a href="/dashboard/users/${id}">${name}</a>`,
      },
      { title: 'Roles', cell: ({ roles }) => roleList(roles) },
      { title: 'State', cell: userState },
      { title: 'Signs in with', cell: signsInBy },
      { title: 'Last seen', cell: ({ id }) => lastSeen(uses.get(id)) },
      { title: 'Created', cell: ({ createdAt }) => time(createdAt) },
    ],
    users,
  );
}

function lastSeen(use: PrincipalUse | undefined): Html {
  if (use === undefined) return html`<span class="muted">never</span>`;
  return html`${timeAgo(use.at)}${use.code && html`<br><span class="error">refused: ${use.code}</span>`}`;
}
