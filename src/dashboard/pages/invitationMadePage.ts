import { addressOf } from '../../api/server/addressOf.ts';
import { type IssuedLink, invitationPath } from '../../modules/auth/UserLinks.ts';
import type { User } from '../../modules/auth/user.ts';
import { html } from '../components/html.ts';
import type { Page, Reply, Visit } from '../components/route.ts';
import { secretOnce, time } from '../components/text.ts';
import { showOnce, takeShownOnce } from '../http/shownOnce.ts';

export const usersSection = 'Users';

const madePath = (userId: string) => `/users/${userId}/invited`;

/** Leads to the page of an invitation just created: the only one that ever shows the link. */
export function toMadeInvitation(visit: Visit, link: IssuedLink): Reply {
  return showOnce(visit, madePath(link.userId), link);
}

/** Returns that page; from the second visit on it leads to the user. */
export function madeInvitation(publicUrl: string | undefined, visit: Visit, user: User): Reply {
  const link = takeShownOnce<IssuedLink>(visit, madePath(user.id));
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
    body: html`<h1>Invitation created</h1>
${secretOnce('The link', addressOf(req, publicUrl) + invitationPath(link))}
<p><strong>Copy it now: it will not be shown again.</strong> Anyone who has it can sign in as ${name}: send it securely.</p>
<p>It lets ${name} choose a password, once, until ${time(link.expiresAt)}. Earlier links no longer work.</p>
<p><a role="button" class="outline secondary" href="/dashboard/users/${id}">Go to user</a></p>`,
  };
}
