import type { KeyDirectory } from '../../modules/auth/KeyDirectory.ts';
import { ALL_WORKSPACES, type Role, roles } from '../../modules/auth/user.ts';
import { ServiceError } from '../../platform/errors.ts';
import { checkboxes, messageOf, select } from './formFields.ts';
import { type Html, html } from './html.ts';
import type { Visit } from './route.ts';
import { type Refusal, textOf, valuesOf } from './sentForm.ts';
import { roleTexts } from './userFacts.ts';

const NO_ROLE = 'none';

/** A role as chosen in a form, and where; undefined: none there. */
export interface ChosenRole {
  role: Role | undefined;
  workspaces: readonly string[];
}

/** Returns the chosen role and workspaces; throws `validation_failed` when one of them is missing or unknown. */
export function roleSent(form: Visit['form'], { known }: Pick<KeyDirectory, 'known'>): ChosenRole {
  const text = textOf(form, 'role');
  const role = roles.find((one) => one === text);
  if (role === undefined && text !== NO_ROLE) throw invalid('role', 'Choose a role.');
  const workspaces = valuesOf(form, 'workspaces');
  const isUnknown = (id: string) => id !== ALL_WORKSPACES && !known.workspaces.has(id);
  if (workspaces.length === 0 || workspaces.some(isUnknown)) {
    throw invalid('workspaces', 'Choose at least one workspace, or all of them.');
  }
  return { role, workspaces };
}

function invalid(field: string, message: string): ServiceError {
  return new ServiceError('validation_failed', message, { details: [{ field, message }] });
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
  const workspaces = [...known.workspaces.keys()].map((id) => ({ value: id, text: id }));
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
