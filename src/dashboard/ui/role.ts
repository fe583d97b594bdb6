import { ServiceError } from '../../errors.ts';
import { type Role, roles } from '../../principals/users/user.ts';
import { type Html, html } from '../shell/html.ts';
import type { Refusal } from '../shell/sentForm.ts';
import { messageOf, select } from './formFields.ts';
import { roleTexts } from './userFacts.ts';

/** Returns the chosen role; throws `validation_failed` when it is not one. */
export function roleOf(text: string): Role {
  const role = roles.find((one) => one === text);
  if (role) return role;
  const message = 'Choose a role.';
  throw new ServiceError('validation_failed', message, { details: [{ field: 'role', message }] });
}

/** Returns the choice of a role, with what each may do. */
export function roleField(value: string, refusal?: Refusal): Html {
  return select({
    name: 'role',
    label: 'Role',
    value,
    options: roles.map((role) => ({ value: role, text: role })),
    hint: roles.map((role, at) => html`${at > 0 && html`<br>`}${role}: ${roleTexts[role]}`),
    error: messageOf(refusal?.details, 'role'),
  });
}
