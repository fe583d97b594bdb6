import { html as template } from 'hono/html';

/** Markup that may be sent as it is: every value that went into it was escaped. */
export interface Html {
  readonly isEscaped: true;
  toString(): string;
}

/** What goes into a template; `undefined`, `null` and booleans leave nothing, arrays all of their items. */
export type HtmlValue = Html | string | number | boolean | null | undefined | readonly HtmlValue[];

/** Markup out of a template literal. Values are escaped, for text as well as for attributes in double quotes. */
export function html(strings: TemplateStringsArray, ...values: HtmlValue[]): Html {
  return template(strings, ...values) as Html;
}
