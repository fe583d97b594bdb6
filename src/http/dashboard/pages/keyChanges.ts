import { ServiceError } from '../../../errors.ts';
import type { AccessDirectory } from '../../../keys/AccessDirectory.ts';
import { type ApiKey, stateOf } from '../../../keys/access.ts';
import { AccessManager, MAX_ROTATION_SECONDS } from '../../../keys/manageAccess.ts';
import { confirmedChange } from '../components/confirmation.ts';
import { endings } from '../components/endings.ts';
import { input, select } from '../components/form.ts';
import { code, time } from '../components/text.ts';
import { textOf } from '../form.ts';
import { type Html, html } from '../html.ts';
import type { DashboardRoute, Reply, Visit } from '../route.ts';
import { keyMadePage, keysPath, keysSection } from './keyMadePage.ts';

/** Something that is done to a key, once the page that asks was answered. */
interface KeyChange {
  /** Last segment of its path. */
  name: string;
  button: string;
  isDangerous?: boolean;
  /** What it does. */
  text: string;
  /** What the question asks for, beyond the button. */
  fields?(key: ApiKey): Html;
  /** Whether a key is in a state for it. */
  isFor(state: ReturnType<typeof stateOf>, key: ApiKey): boolean;
  make(manager: AccessManager, key: ApiKey, visit: Visit): Promise<Reply>;
}

/** A change of the key's state; leads back to the list. */
function toState(state: ApiKey['state']): KeyChange['make'] {
  return async (manager, { id, name }, { workspace, notice }) => {
    await manager.setKeyState(id, state);
    notice(`API key ${name} is ${state}.`);
    return { redirect: keysPath(workspace) };
  };
}

const changes: readonly KeyChange[] = [
  {
    name: 'rotate',
    button: 'Rotate',
    text: 'You get a new key of the same name and permissions. The present one is taken beside it until the time you choose, then refused with 401.',
    fields: () =>
      select({
        name: 'expires_in',
        label: 'The present key ends',
        value: '86400',
        options: endings(MAX_ROTATION_SECONDS),
      }),
    isFor: (state, { replacedBy }) => state === 'active' && replacedBy === undefined,
    async make(manager, { id }, { form }) {
      const seconds = Number(textOf(form, 'expires_in') || Number.NaN);
      const { previousExpiresAt, ...made } = await manager.rotateKey(id, seconds);
      const end = html`It takes the place of ${code(id)}, which is refused from ${time(previousExpiresAt)} on.`;
      return { page: keyMadePage(made, end) };
    },
  },
  {
    name: 'deactivate',
    button: 'Deactivate',
    isDangerous: true,
    text: 'Requests with the key are refused with 403, until you activate it again.',
    isFor: (state) => state === 'active',
    make: toState('deactivated'),
  },
  {
    name: 'activate',
    button: 'Activate',
    text: 'Requests with the key are taken again.',
    isFor: (state) => state === 'deactivated',
    make: toState('active'),
  },
  {
    name: 'delete',
    button: 'Delete',
    isDangerous: true,
    text: 'Requests with the key are refused with 401, for ever. This cannot be undone. What was sent with it stays, and goes on to bear its name.',
    fields: ({ name }) =>
      input({
        name: 'name',
        label: `Type the name of the key, ${name}, to confirm`,
        isRequired: true,
        autocomplete: 'off',
      }),
    isFor: (state) => state !== 'deleted',
    async make(manager, key, visit) {
      if (textOf(visit.form, 'name') !== key.name.trim()) {
        throw new ServiceError('validation_failed', 'This is not the name of the key. Nothing was deleted.');
      }
      return toState('deleted')(manager, key, visit);
    },
  },
];

/** What can be done to a key as it is now. */
export function keyChanges(key: ApiKey): readonly KeyChange[] {
  const state = stateOf(key, Date.now());
  return changes.filter(({ isFor }) => isFor(state, key));
}

/** For each change the page that asks, and what its answer does. */
export function keyChangeRoutes({ directory }: { directory: AccessDirectory }): DashboardRoute[] {
  return changes.flatMap(({ name, button, text, fields, isDangerous, make }) =>
    confirmedChange({
      path: `/workspaces/:workspace/keys/:id/${name}`,
      find: (visit) => findKey(directory, visit),
      question: (key, { workspace }) => ({
        title: `${button} the API key ${key.name}?`,
        section: keysSection,
        text: html`${code(key.id)}. ${text}`,
        fields: fields?.(key),
        button: `${button} API key`,
        isDangerous,
        back: keysPath(workspace),
      }),
      make: (key, visit) => make(new AccessManager(directory, visit.actor), key, visit),
    }),
  );
}

/** The key of the path; one of another workspace is not found. */
function findKey({ access }: AccessDirectory, { req, workspace }: Visit): ApiKey {
  const key = access.keys.get(String(req.params.id));
  if (key?.workspace === workspace) return key;
  throw new ServiceError('not_found', 'There is no such key in the workspace.');
}
