import { input } from './formFields.ts';
import type { Html, HtmlValue } from './html.ts';

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
