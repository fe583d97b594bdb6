import { ALL_WORKSPACES, type Role, type Roles, stateOf, type User } from '../../modules/auth/user.ts';
import { type Html, html } from './html.ts';
import { badge, code, time } from './text.ts';

/** What each role may see and do in a workspace, in a few words. */
export const roleTexts: Record<Role, string> = {
  admin: 'everything',
  compliance: 'everything that is read, evidence and legal holds; no keys, webhooks or erasures',
  billing: 'overview, readiness, records and documents',
  integrator: 'overview, keys, webhooks, sources, requests and messages; no patient data',
  viewer: 'overview, de-identified events and API reference; no patient data',
};

/** Returns a user's roles, each with its workspace. */
export function roleList(all: Roles): Html {
  const entries = Object.entries(all).toSorted(([one], [other]) => (one < other ? -1 : 1));
  if (entries.length === 0) return html`<span class="muted">none</span>`;
  return html`${entries.map(
    ([workspace, role], at) =>
      html`${at > 0 && html`<br>`}${role} <span class="muted">in ${workspace === ALL_WORKSPACES ? 'all workspaces' : workspace}</span>`,
  )}`;
}

/** Returns how a user signs in. */
export function signsInBy({ origin, totpSetAt }: User): string {
  if (origin === 'openid_connect') return 'identity provider';
  return totpSetAt === undefined ? 'password' : 'password and app';
}

const stateTones = { active: 'good', invited: 'neutral', disabled: 'bad' } as const;

export function userState(user: User): Html {
  const state = stateOf(user);
  return badge(state, stateTones[state]);
}

/** Returns what there is to know about a user. */
export function userFacts(user: User): Html {
  const { id, name, roles, createdAt, passwordSetAt, totpSetAt } = user;
  return html`<dl class="fields">
<div><dt>Name</dt><dd>${name}</dd></div>
<div><dt>${Object.keys(roles).length === 1 ? 'Role' : 'Roles'}</dt><dd>${roleList(roles)}</dd></div>
<div><dt>State</dt><dd>${userState(user)}</dd></div>
<div><dt>Signs in with</dt><dd>${signsInBy(user)}</dd></div>
<div><dt>Created</dt><dd>${time(createdAt)}</dd></div>
${passwordSetAt && html`<div><dt>Password set</dt><dd>${time(passwordSetAt)}</dd></div>`}
${totpSetAt && html`<div><dt>Authenticator app set up</dt><dd>${time(totpSetAt)}</dd></div>`}
<div><dt>ID</dt><dd>${code(id)}</dd></div>
</dl>`;
}
