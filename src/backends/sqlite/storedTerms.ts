import type { SearchTerms } from '../../ports/readModels.ts';

const TEXT = Symbol('text');

type WithText = SearchTerms & { [TEXT]?: string };

/** The terms of a row as its table has them, in JSON: most rows are written again with the same ones, which nobody looks at. */
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

/** What a table has of terms: JSON. */
export function termsText(search: WithText): string {
  return search[TEXT] ?? JSON.stringify(search.terms);
}
