import { ServiceError } from '../../platform/errors.ts';
import { input, messageOf } from './formFields.ts';
import { type Html, html } from './html.ts';
import type { Visit } from './route.ts';
import { passwordOf, type Refusal } from './sentForm.ts';

/** Returns two fields for choosing a password; what was typed before is never shown again. */
export function newPasswordFields(refusal: Refusal | undefined, label = 'Password'): Html {
  const field = { type: 'password', isRequired: true, autocomplete: 'new-password' } as const;
  return html`${input({
    ...field,
    name: 'password',
    label,
    hint: 'At least 12 characters. A few unrelated words are easy to remember and hard to guess.',
    error: messageOf(refusal?.details, 'password'),
  })}
${input({ ...field, name: 'again', label: 'Confirm password', error: messageOf(refusal?.details, 'again') })}`;
}

/** Returns the password in those two fields; throws `validation_failed` when they differ. */
export function repeatedPassword(form: Visit['form']): string {
  const password = passwordOf(form, 'password');
  if (password === passwordOf(form, 'again')) return password;
  const message = 'The passwords do not match.';
  throw new ServiceError('validation_failed', message, { details: [{ field: 'again', message }] });
}
