import type { Html, HtmlValue } from '../shell/html.ts';
import { input } from './formFields.ts';

/** Returns the field for the code of an authenticator app. */
export function codeField({
  name = 'code',
  hint,
  error,
}: {
  name?: string;
  hint: HtmlValue;
  error?: string | undefined;
}): Html {
  return input({ name, label: 'Code', isRequired: true, autocomplete: 'one-time-code', hint, error });
}
