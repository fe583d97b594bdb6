import type { KeyDirectory } from '../../modules/auth/KeyDirectory.ts';
import { resetSecondFactor } from '../../modules/auth/SecondFactor.ts';
import type { UserDirectory } from '../../modules/auth/UserDirectory.ts';
import { UserLinks } from '../../modules/auth/UserLinks.ts';
import { UserManager } from '../../modules/auth/UserManager.ts';
import { isAdministrator, type User } from '../../modules/auth/user.ts';
import { ServiceError } from '../../platform/errors.ts';
import { breadcrumb } from '../components/breadcrumb.ts';
import { confirmedChange } from '../components/confirmation.ts';
import { formError } from '../components/formFields.ts';
import { html } from '../components/html.ts';
import { roleFields, roleSent } from '../components/role.ts';
import { admins, type DashboardRoute, type Page, type Reply, type Visit } from '../components/route.ts';
import { type Refusal, refusalOf } from '../components/sentForm.ts';
import { userFacts } from '../components/userFacts.ts';
import { madeInvitation, toMadeInvitation, usersSection } from './invitationMadePage.ts';

const userPath = '/users/:user';

export interface UserPagePorts {
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
        return { page: userPage(ports, user, visit, name, refusalOf(error)) };
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
          return { page: userPage(ports, user, visit, 'invite', refusalOf(error)) };
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
        section: usersSection,
        text: 'The user signs in with the password alone until another authenticator app is set up. The recovery codes stop working. Make sure that the request really comes from the user.',
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
        section: usersSection,
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
  const { id, name, state, origin, passwordSetAt, totpSetAt } = user;
  return {
    title: name,
    section: usersSection,
    ...(refusal && { status: refusal.status }),
    body: html`${breadcrumb([{ text: 'Users', path: '/users' }])}
<h1>${name}</h1>
${refusal?.details.length === 0 && formError(refusal.text)}
${userFacts(user)}
<div class="actions">
${
  state === 'active'
    ? html`<a role="button" class="outline secondary" href="/dashboard/users/${id}/disable">Disable</a>`
    : html`<form method="post" action="/dashboard/users/${id}/enable">${csrf}<button type="submit">Enable</button></form>`
}
${
  origin === 'password' &&
  html`<form method="post" action="/dashboard/users/${id}/unlock">${csrf}<button type="submit" class="outline secondary" title="After five wrong passwords a name is locked for 15 minutes.">Unlock</button></form>`
}
<a role="button" class="outline secondary" href="/dashboard/audit?principal=${id}">Sign-ins and changes</a>
</div>
<h2>Change roles</h2>
<p>A role in all workspaces applies where the user has no other, and replaces the others when it is set.${
      origin === 'openid_connect' && ' The identity provider sets the roles again at the next sign-in.'
    }</p>
<form method="post" action="/dashboard/users/${id}/role">${csrf}
${roleFields(directory, { form, withNone: true, refusal: tried === 'role' ? refusal : undefined })}
<div class="actions"><button type="submit">Change roles</button></div>
</form>
${
  origin === 'password' &&
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
