import {
  kindPermissions,
  type Permission,
  permissionSchema,
  permissions,
  type WholePermission,
} from '../../principals/keys/permissions.ts';
import { type Html, html } from '../shell/html.ts';
import type { Visit } from '../shell/route.ts';
import { valuesOf } from '../shell/sentForm.ts';
import { checkboxes } from '../ui/formFields.ts';

/** What each permission lets a key do. */
const permissionTexts: Record<WholePermission, string> = {
  write: 'Send records and documents, and remove documents.',
  read: 'Read records, documents and their history.',
  events: 'Read the event stream in full.',
  'events:deidentified': 'Read the event stream without data that could identify a person.',
  webhooks: 'Create and change webhooks. Sending full events also needs the events permission.',
};

/**
 * Returns the choice of permissions: those for everything, and those for a single kind; `error` is what was wrong
 * with it.
 */
export function permissionFields(chosen: readonly Permission[], error?: string): Html {
  const isChecked = (value: Permission) => chosen.includes(value);
  const isScoped = kindPermissions.some(isChecked);
  return html`${checkboxes(
    'permissions',
    'Permissions',
    permissions.map((value) => ({
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
  kindPermissions.map((value) => ({ value, text: value, isChecked: isChecked(value) })),
)}
</details>`;
}

/** Returns the permissions that were chosen. */
export function permissionsSent(form: Visit['form']): Permission[] {
  return valuesOf(form, 'permissions').flatMap((value) => permissionSchema.safeParse(value).data ?? []);
}
