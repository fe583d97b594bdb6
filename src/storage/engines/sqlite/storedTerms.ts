import type { SearchTerms } from '../../readModels.ts';

const TEXT = Symbol('text');

type WithText = SearchTerms & { [TEXT]?: string };

/** Returns the terms of a row from its table's JSON: most rows are rewritten with the same ones, which are never parsed. */
export function storedTerms(text: string, since: number): SearchTerms {
  let parsed: string[] | undefined;
  const search = {
    get terms() {
      parsed ??= JSON.parse(text) as string[];
      return parsed;
    },
    since,
  };
  return Object.defineProperty(search, TEXT, { value: text });
}

/** Returns the form of terms in a table: JSON. */
export function termsText(search: WithText): string {
  return search[TEXT] ?? JSON.stringify(search.terms);
}
