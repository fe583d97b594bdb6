import type { Principal } from '../../domain/events/event.ts';
import { INSTALLATION } from '../../domain/events/streams.ts';
import type { KeyDirectory } from '../../modules/auth/keyDirectory.ts';
import {
  ALL_WORKSPACES,
  type Role,
  type Roles,
  roleIn,
  roles,
  stateOf,
  type User,
  type UserDirectory,
} from '../../modules/auth/users.ts';
import { invalidField } from '../../platform/errors.ts';
import { checkboxes, messageOf, select } from './forms.ts';
import { type Html, type HtmlValue, html, type Refusal, textOf, type Visit, valuesOf } from './page.ts';
import { definitionList } from './tables.ts';
import { badge, bdi, code, time } from './text.ts';

/** The names of the types of principals. */
export const principalTexts: Record<Principal['type'], string> = {
  api_key: 'API key',
  source: 'source',
  user: 'user',
  operator: 'command line',
  service: 'service',
};

/** Returns who it was: the name of the key or user, where it is known, and which of the two. */
export function who({ type, id, name }: Principal & { name: string | null }): Html {
  return html`<strong>${name ? bdi(name) : code(id)}</strong> <span class="muted">(${principalTexts[type]})</span>`;
}

/**
 * Returns the keys of a workspace and the users with a role there, as choices of a form; of the installation, all users. Somebody
 * who lost that role is one where `chosen` is the id.
 */
export function principalChoices(
  { directory, users }: { directory: KeyDirectory; users: UserDirectory },
  workspace: string,
  chosen: string | undefined,
): { value: string; text: string }[] {
  const keys = directory.keysOf(workspace);
  const isShown = (user: User) =>
    workspace === INSTALLATION || roleIn(user, workspace) !== undefined || user.id === chosen;
  return [
    ...keys.map(({ id, name }) => ({ value: id, text: `API key: ${name}` })),
    ...users
      .all()
      .filter(isShown)
      .map(({ id, name }) => ({ value: id, text: `User: ${name}` })),
  ];
}

/** Returns the names of the users with a role in a workspace, as suggestions for a field. */
export function userSuggestions(users: UserDirectory, workspace: string): { value: string; text: string }[] {
  const members = users.all().filter((user) => roleIn(user, workspace) !== undefined);
  return members.map(({ name }) => ({ value: name, text: 'User' }));
}

/** The same, and the names of its keys. */
export function senderSuggestions(
  { directory, users }: { directory: KeyDirectory; users: UserDirectory },
  workspace: string,
): { value: string; text: string }[] {
  const keys = directory.keysOf(workspace);
  return [
    ...keys.map(({ name }) => ({ value: name, text: 'API key' })),
    ...userSuggestions(users, workspace),
  ];
}

/** What each role may see and do in a workspace, in a few words. */
const roleTexts: Record<Role, string> = {
  admin: 'everything',
  compliance: 'everything that is read, evidence and legal holds; no keys, webhooks or erasures',
  billing: 'overview, readiness, records and documents',
  integrator: 'overview, keys, webhooks, sources, requests and messages; no patient data',
  auditor: 'overview, audit trail and evidence, both with ids only; no records',
  viewer: 'overview, de-identified events and API reference; no patient data',
};

/** Returns a user's roles, each with its workspaces. */
export function roleList(all: Roles): Html {
  const byRole = Map.groupBy(Object.keys(all).toSorted(), (workspace) => all[workspace] as Role);
  if (byRole.size === 0) return html`<span class="muted">none</span>`;
  const named = (workspace: string) => (workspace === ALL_WORKSPACES ? 'all workspaces' : workspace);
  return html`${[...byRole].map(
    ([role, workspaces], at) =>
      html`${at > 0 && '; '}${role} <span class="muted">in ${workspaces.map(named).join(', ')}</span>`,
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
  const facts: [string, HtmlValue][] = [
    ['Name', bdi(name)],
    [Object.keys(roles).length === 1 ? 'Role' : 'Roles', roleList(roles)],
    ['State', userState(user)],
    ['Signs in with', signsInBy(user)],
    ['Created', time(createdAt)],
    ['Password set', passwordSetAt && time(passwordSetAt)],
    ['Authenticator app set up', totpSetAt && time(totpSetAt)],
    ['ID', code(id)],
  ];
  return definitionList(facts.filter(([, value]) => value !== undefined));
}

const NO_ROLE = 'none';

/** A role as chosen in a form, and where; undefined: none there. */
interface ChosenRole {
  role: Role | undefined;
  workspaces: readonly string[];
}

/** Returns the chosen role and workspaces; throws `validation_failed` when one of them is missing or unknown. */
export function roleSent(form: Visit['form'], { known }: Pick<KeyDirectory, 'known'>): ChosenRole {
  const text = textOf(form, 'role');
  const role = roles.find((one) => one === text);
  if (role === undefined && text !== NO_ROLE) throw invalidField('role', 'Choose a role.');
  const workspaces = valuesOf(form, 'workspaces');
  const isUnknown = (id: string) => id !== ALL_WORKSPACES && !known.workspaces.has(id);
  if (workspaces.length === 0 || workspaces.some(isUnknown)) {
    throw invalidField('workspaces', 'Choose at least one workspace, or all of them.');
  }
  return { role, workspaces };
}

interface RoleChoice {
  form: Visit['form'];
  /** Whether a role can be taken away as well. */
  withNone?: boolean;
  refusal?: Refusal | undefined;
}

/** Returns the choice of a role, with what each may do, and of the workspaces in which it applies. */
export function roleFields(
  { known }: Pick<KeyDirectory, 'known'>,
  { form, withNone = false, refusal }: RoleChoice,
): Html {
  const chosen = valuesOf(form, 'workspaces');
  const workspaces = [...known.workspaces.values()]
    .filter(({ id, state }) => state !== 'deleted' || chosen.includes(id))
    .map(({ id }) => ({ value: id, text: id }));
  return html`${select({
    name: 'role',
    label: 'Role',
    value: textOf(form, 'role') || 'viewer',
    options: [
      ...roles.toReversed().map((role) => ({ value: role, text: role })),
      ...(withNone ? [{ value: NO_ROLE, text: 'no role' }] : []),
    ],
    hint: roles.toReversed().map((role, at) => html`${at > 0 && html`<br>`}${role}: ${roleTexts[role]}`),
    error: messageOf(refusal?.details, 'role'),
  })}
${checkboxes(
  'workspaces',
  'Workspaces',
  [
    {
      value: ALL_WORKSPACES,
      text: 'All workspaces',
      hint: 'Also those created later. An administrator of all workspaces manages users and workspaces.',
    },
    ...workspaces,
  ].map((choice) => ({ ...choice, isChecked: chosen.includes(choice.value) })),
  messageOf(refusal?.details, 'workspaces'),
)}`;
}
