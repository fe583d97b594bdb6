import type { PrincipalUse } from '../../../projections/auditAggregation.ts';
import { addressOf } from '../../api/server/answer.ts';
import { INSTALLATION } from '../../domain/events/streams.ts';
import { lastUses } from '../../modules/audit/trail.ts';
import type { KeyDirectory } from '../../modules/auth/keyDirectory.ts';
import { resetSecondFactor } from '../../modules/auth/twoFactor.ts';
import { type IssuedLink, invitationPath, UserLinks, UserManager } from '../../modules/auth/userManager.ts';
import { isAdministrator, type User, type UserDirectory, withRole } from '../../modules/auth/users.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { confirmedChange, formError, input, messageOf } from '../components/forms.ts';
import { wordsOf } from '../components/labels.ts';
import { breadcrumb } from '../components/layout.ts';
import { filteredByName, nameParameter } from '../components/nameFilter.ts';
import {
  admins,
  type DashboardRoute,
  type Html,
  html,
  type Page,
  problemOf,
  type Refusal,
  type Reply,
  textOf,
  type Visit,
} from '../components/page.ts';
import { roleFields, roleList, roleSent, signsInBy, userFacts, userState } from '../components/people.ts';
import { table } from '../components/tables.ts';
import { badge, bdi, secretOnce, time, timeAgo } from '../components/text.ts';
import { popFlash, showOnce } from '../http/session.ts';

const usersSection = 'Users';

/** Returns the way to a page about users, or about one of them. */
function userCrumbs(user?: Pick<User, 'id' | 'name'>): Html {
  return breadcrumb([
    { text: usersSection, path: '/users' },
    ...(user ? [{ text: user.name, path: `/users/${user.id}` }] : []),
  ]);
}

const madePath = (userId: string) => `/users/${userId}/invited`;

/** Leads to the page of an invitation just created: the only one that ever shows the link. */
function toMadeInvitation(visit: Visit, link: IssuedLink): Reply {
  return showOnce(visit, madePath(link.userId), link);
}

/** Returns that page; from the second visit on it leads to the user. */
function madeInvitation(publicUrl: string | undefined, visit: Visit, user: User): Reply {
  const link = popFlash<IssuedLink>(visit, madePath(user.id));
  if (link) return { page: invitationMadePage(publicUrl, visit, user, link) };
  visit.notice('The link was shown once. If nobody copied it, create another one.');
  return { redirect: `/users/${user.id}` };
}

function invitationMadePage(
  publicUrl: string | undefined,
  { req }: Visit,
  { id, name }: User,
  link: IssuedLink,
): Page {
  return {
    title: 'Invitation created',
    section: usersSection,
    body: html`${userCrumbs({ id, name })}
<h1>Invitation created</h1>
${secretOnce('The link', addressOf(req, publicUrl) + invitationPath(link))}
<p><strong>Copy it now: it will not be shown again.</strong> Anyone who has it can sign in as ${name}: send it securely.</p>
<p>It lets ${name} choose a password, once, until ${time(link.expiresAt)}. Earlier links no longer work.</p>
<p><a role="button" class="outline secondary" href="/dashboard/users/${id}">Go to user</a></p>`,
  };
}

const userPath = '/users/:user';

interface UserPagePorts {
  users: UserDirectory;
  directory: KeyDirectory;
  publicUrl: string | undefined;
}

/** A user's page: role, links and two-factor sign-in, disable and enable. */
export function userRoutes(ports: UserPagePorts): DashboardRoute[] {
  const { users, directory, publicUrl } = ports;
  /** Resolves with the user named by the path; rejects with `not_found` when there is none. */
  const find = async ({ req }: Visit): Promise<User> => {
    await users.refresh();
    const user = users.find(req.params.user as string);
    if (user === undefined) throw new ServiceError('not_found', 'There is no such user.');
    return user;
  };
  /** A form on the user's page: makes its change, and shows the page again. */
  const change = (
    name: string,
    make: (manager: UserManager, user: User, visit: Visit) => Promise<string>,
  ): DashboardRoute => ({
    method: 'post',
    path: `${userPath}/${name}`,
    page: userPath,
    roles: admins,
    async handle(visit): Promise<Reply> {
      const user = await find(visit);
      try {
        visit.notice(await make(new UserManager(users, visit.actor), user, visit));
      } catch (error) {
        return { page: userPage(ports, user, visit, name, problemOf(error)) };
      }
      return { redirect: pathAfterChange(users, visit, user) };
    },
  });
  return [
    {
      method: 'get',
      path: userPath,
      roles: admins,
      handle: async (visit) => ({ page: userPage(ports, await find(visit), visit) }),
    },
    change('role', async (manager, { id, name }, { form }) => {
      const { role, workspaces } = roleSent(form, directory);
      await manager.setRole(id, role, workspaces);
      return `The roles of user ${name} were changed.`;
    }),
    {
      method: 'post',
      path: `${userPath}/invite`,
      page: userPath,
      roles: admins,
      async handle(visit) {
        const user = await find(visit);
        try {
          return toMadeInvitation(visit, await new UserLinks(users, visit.actor).inviteAgain(user.id));
        } catch (error) {
          return { page: userPage(ports, user, visit, 'invite', problemOf(error)) };
        }
      },
    },
    {
      method: 'get',
      path: `${userPath}/invited`,
      roles: admins,
      handle: async (visit) => madeInvitation(publicUrl, visit, await find(visit)),
    },
    ...confirmedChange({
      path: `${userPath}/reset-two-factor`,
      find,
      question: ({ id, name }) => ({
        title: `Reset two-factor sign-in for user ${name}?`,
        name,
        section: usersSection,
        breadcrumb: userCrumbs({ id, name }),
        text: 'The user signs in with only the password until another authenticator app is set up. The recovery codes stop working. Make sure that the request really comes from the user.',
        button: 'Reset two-factor sign-in',
        isDangerous: true,
        back: `/users/${id}`,
      }),
      async make({ id, name }, { actor, notice }) {
        await resetSecondFactor(users, id, actor);
        notice(`Two-factor sign-in for user ${name} was reset.`);
        return { redirect: `/users/${id}` };
      },
    }),
    ...confirmedChange({
      path: `${userPath}/disable`,
      find,
      question: ({ id, name }) => ({
        title: `Disable user ${name}?`,
        name,
        section: usersSection,
        breadcrumb: userCrumbs({ id, name }),
        text: 'The user can no longer sign in, and open sessions end. API keys that the user created keep working.',
        button: 'Disable user',
        isDangerous: true,
        back: `/users/${id}`,
      }),
      async make({ id, name }, { actor, notice }) {
        await new UserManager(users, actor).setState(id, 'disabled');
        notice(`User ${name} is disabled.`);
        return { redirect: `/users/${id}` };
      },
    }),
    change('unlock', async (manager, { id, name }) => {
      await manager.unlock(id);
      return `User ${name} is unlocked.`;
    }),
    change('enable', async (manager, { id, name }) => {
      await manager.setState(id, 'active');
      return `User ${name} is active.`;
    }),
  ];
}

/** Administrators of all workspaces who gave up that role may no longer see the page. */
function pathAfterChange(users: UserDirectory, visit: Visit, { id }: User): string {
  const self = users.find(visit.user.id);
  return self && isAdministrator(self) ? `/users/${id}` : '/';
}

/** `tried` is the form that was refused. */
function userPage(
  { directory }: UserPagePorts,
  user: User,
  { csrf, form }: Visit,
  tried?: string,
  refusal?: Refusal,
): Page {
  const { id, name, state, origin, passwordSetAt, totpSetAt, roles } = user;
  const [role = 'viewer'] = Object.values(roles);
  const present = { role, workspaces: Object.keys(roles).filter((workspace) => roles[workspace] === role) };
  return {
    title: name,
    section: usersSection,
    ...(refusal && { status: refusal.status }),
    body: html`${userCrumbs()}
<div class="page-head"><h1>${bdi(name)}</h1><div class="actions">
${
  state === 'active'
    ? html`<a role="button" class="outline secondary" href="/dashboard/users/${id}/disable">Disable</a>`
    : html`<form method="post" action="/dashboard/users/${id}/enable">${csrf}<button type="submit">Enable</button></form>`
}
${
  origin === 'password' &&
  state !== 'disabled' &&
  html`<form method="post" action="/dashboard/users/${id}/unlock">${csrf}<button type="submit" class="outline secondary" title="After five wrong passwords a name is locked for 15 minutes.">Unlock</button></form>`
}
<a role="button" class="outline secondary" href="/dashboard/audit?principal=${id}">Sign-ins and changes</a>
</div></div>
${formError(refusal)}
${userFacts(user)}
<h2>Change roles</h2>
<p>A role in all workspaces applies where the user has no other, and replaces the others when it is set.${
      origin === 'openid_connect' && ' The identity provider sets the roles again at the next sign-in.'
    }</p>
<form method="post" action="/dashboard/users/${id}/role">${csrf}
${roleFields(directory, { withNone: true, ...(tried === 'role' ? { form, refusal } : { form: present }) })}
<div class="actions"><button type="submit">Change roles</button></div>
</form>
${
  origin === 'password' &&
  state !== 'disabled' &&
  html`<h2>Password</h2>
<p>${
    passwordSetAt === undefined
      ? 'The user has not chosen a password yet. A new link replaces the previous one.'
      : 'A link lets the user choose a new password. The current one works until then.'
  }</p>
<form method="post" action="/dashboard/users/${id}/invite">${csrf}
<div class="actions"><button type="submit">Create link</button></div>
</form>`
}
${
  totpSetAt &&
  html`<h2>Two-factor sign-in</h2>
<p>Reset it for a user who has lost the authenticator app and the recovery codes.</p>
<div class="actions"><a role="button" class="outline secondary" href="/dashboard/users/${id}/reset-two-factor">Reset two-factor sign-in</a></div>`
}`,
  };
}

interface UsersPagePorts extends UserPagePorts {
  readModels: ReadModels;
}

/** Settings, Users: list and invite; each user has a page of their own. */
export function usersRoutes(ports: UsersPagePorts): DashboardRoute[] {
  const { users } = ports;
  const path = '/users/new';
  return [
    {
      method: 'get',
      path: '/users',
      roles: admins,
      query: [nameParameter],
      async handle({ req }) {
        const [uses] = await Promise.all([lastUses(ports, INSTALLATION), users.refresh()]);
        return { page: listPage(req, users, uses) };
      },
    },
    { method: 'get', path, roles: admins, handle: async (visit) => ({ page: newPage(ports, visit) }) },
    {
      method: 'post',
      path,
      roles: admins,
      async handle(visit) {
        const { form, actor } = visit;
        try {
          const { role, workspaces } = roleSent(form, ports.directory);
          const invited = { name: textOf(form, 'name'), roles: withRole({}, role, workspaces) };
          return toMadeInvitation(visit, await new UserLinks(users, actor).invite(invited));
        } catch (error) {
          return { page: newPage(ports, visit, problemOf(error)) };
        }
      },
    },
  ];
}

function listPage(req: Visit['req'], users: UserDirectory, uses: Map<string, PrincipalUse>): Page {
  const { items, filter, none } = filteredByName(req, '/dashboard/users', users.all(), ({ name }) => name);
  return {
    title: usersSection,
    section: usersSection,
    body: html`<div class="page-head"><h1>Users</h1><div class="actions"><a role="button" href="/dashboard/users/new">Invite user</a></div></div>
<p>Users sign in to this dashboard. Programs use API keys, which belong to a workspace.</p>
${filter}
${none ?? userTable(items, uses)}`,
  };
}

/** Returns the form for another user; after a refusal, with what is wrong with it. */
function newPage({ directory }: UsersPagePorts, { csrf, form }: Visit, refusal?: Refusal): Page {
  return {
    title: 'Invite user',
    section: usersSection,
    ...(refusal && { status: refusal.status }),
    body: html`${userCrumbs()}
<h1>Invite user</h1>
<p>You get a link that lets the user choose a password, which nobody else learns.</p>
${formError(refusal)}
<form method="post" action="/dashboard/users/new">${csrf}
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
<div class="actions"><button type="submit">Invite user</button>
<a role="button" class="outline secondary" href="/dashboard/users">Cancel</a></div>
</form>`,
  };
}

function userTable(users: readonly User[], uses: Map<string, PrincipalUse>): Html {
  return table(
    'Users',
    [
      {
        title: 'User',
        ...{ isHeader: true, isCut: true },
        cell: ({ id, name }) => html`<a href="/dashboard/users/${id}" title="${name}">${bdi(name)}</a>`,
      },
      { title: 'Roles', isCut: true, cell: ({ roles }) => roleList(roles) },
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
  return html`${timeAgo(use.at)}${use.code && html` ${badge(`refused: ${wordsOf(use.code)}`, 'bad')}`}`;
}
