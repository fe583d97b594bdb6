import {
  kindPermissions,
  type Permission,
  permissionSchema,
  permissions,
  type WholePermission,
} from '../../modules/auth/permissions.ts';
import { grantablePermissions } from '../../modules/auth/user.ts';
import { ServiceError } from '../../platform/errors.ts';
import { checkboxes } from '../components/formFields.ts';
import { type Html, html } from '../components/html.ts';
import type { Visit } from '../components/route.ts';
import { valuesOf } from '../components/sentForm.ts';

/** What each permission lets a key do. */
const permissionTexts: Record<WholePermission, string> = {
  write: 'Send records and documents, and remove documents.',
  read: 'Read records, documents and their history.',
  events: 'Read the event stream in full.',
  'events:deidentified': 'Read the event stream without data that could identify a person.',
  webhooks: 'Create and change webhooks. Sending full events also needs the events permission.',
};

/**
 * Returns the choice of the permissions that the user may give: those for everything, and those for a single kind;
 * `error` is what was wrong with it.
 */
export function permissionFields({ role }: Visit, chosen: readonly Permission[], error?: string): Html {
  const grantable = grantablePermissions(role);
  const isGrantable = (value: Permission) => grantable.includes(value);
  const isChecked = (value: Permission) => chosen.includes(value);
  const isScoped = kindPermissions.some(isChecked);
  return html`${checkboxes(
    'permissions',
    'Permissions',
    permissions.filter(isGrantable).map((value) => ({
      value,
      text: value,
      hint: permissionTexts[value],
      isChecked: isChecked(value),
    })),
    error,
  )}
<details${isScoped && html` open`}><summary>For one kind only, instead of write or read</summary>
${checkboxes(
  'permissions',
  'Permissions for one kind',
  kindPermissions.filter(isGrantable).map((value) => ({ value, text: value, isChecked: isChecked(value) })),
)}
</details>`;
}

/** Returns the permissions that were chosen. */
export function permissionsSent(form: Visit['form']): Permission[] {
  return valuesOf(form, 'permissions').flatMap((value) => permissionSchema.safeParse(value).data ?? []);
}

/** Throws `validation_failed` unless the user may create keys with these permissions. */
export function requireGrantable({ role }: Visit, chosen: readonly Permission[]): void {
  const grantable = grantablePermissions(role);
  const others = chosen.filter((permission) => !grantable.includes(permission));
  if (others.length === 0) return;
  const message = `Only an administrator can create a key with the permission ${others.join(', ')}.`;
  throw new ServiceError('validation_failed', message, { details: [{ field: 'permissions', message }] });
}
