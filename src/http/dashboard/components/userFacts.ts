import type { Role, User } from '../../../users/user.ts';
import { type Html, html } from '../html.ts';
import { badge, code, time } from './text.ts';

/** What each role may see and do, in a few words. */
export const roleTexts: Record<Role, string> = {
  admin: 'everything',
  compliance: 'overview, records, history and audit trail; no keys, webhooks, users or settings',
  viewer: 'overview and API reference; no data of patients',
};

/** How a user signs in. */
export const originTexts: Record<User['origin'], string> = {
  password: 'password',
  openid_connect: 'identity provider',
};

export function userState({ state }: User): Html {
  return badge(state, state === 'active' ? 'good' : 'bad');
}

/** What there is to know of a user. */
export function userFacts(user: User): Html {
  const { id, name, role, origin, createdAt, passwordSetAt } = user;
  return html`<dl class="fields">
<div><dt>Name</dt><dd>${name}</dd></div>
<div><dt>Role</dt><dd>${role}: ${roleTexts[role]}</dd></div>
<div><dt>State</dt><dd>${userState(user)}</dd></div>
<div><dt>Signs in by</dt><dd>${originTexts[origin]}</dd></div>
<div><dt>Created</dt><dd>${time(createdAt)}</dd></div>
${passwordSetAt && html`<div><dt>Password set</dt><dd>${time(passwordSetAt)}</dd></div>`}
<div><dt>Id</dt><dd>${code(id)}</dd></div>
</dl>`;
}
