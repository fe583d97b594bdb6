import type { CatalogEntry } from '../../domain/records/catalog.ts';

/** Returns `Payers` for `payers`: the tag of a kind, and part of its operations' ids. */
export function tagOf({ plural }: CatalogEntry): string {
  return plural[0]?.toUpperCase() + plural.slice(1);
}

/** Returns `a payer`, `an encounter`. */
export function withArticle(noun: string): string {
  return `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`;
}
