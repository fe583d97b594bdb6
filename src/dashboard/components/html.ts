import { html as template } from 'hono/html';

/** Markup that may be sent as it is: every value in it was escaped. */
export interface Html {
  readonly isEscaped: true;
  toString(): string;
}

/**
 * What can be inserted in a template; `undefined`, `null` and booleans produce nothing, arrays all of their items.
 */
export type HtmlValue = Html | string | number | boolean | null | undefined | readonly HtmlValue[];

/** Builds markup from a template literal. Values are escaped, both for text and for attributes in double quotes. */
export function html(strings: TemplateStringsArray, ...values: HtmlValue[]): Html {
  return template(strings, ...values) as Html;
}
