import type { Request } from 'express';
import { wordsOf } from '../../domain/records/searchIndex.ts';
import { filterForm, input } from './forms.ts';
import { type Html, html } from './page.ts';
import { textsOf } from './recordTable.ts';
import { bdi, empty } from './text.ts';

/** Lists of so many entries are looked through without a filter. */
const FEW = 20;

/** The query parameter of a filter by name: of users, keys and the like, never of patients. */
export const nameParameter = 'name';

/** What a list shows of its entries, below its filter. */
interface NamedList<Item> {
  items: readonly Item[];
  /** Undefined where there are few. */
  filter: Html | undefined;
  /** In place of an empty list where none has the name; undefined where some have it. */
  none: Html | undefined;
}

/** Returns the entries of a list at a path whose names have words that begin with all of those that a request asks for. */
export function filteredByName<Item>(
  req: Request,
  path: string,
  all: readonly Item[],
  nameOf: (item: Item) => string,
): NamedList<Item> {
  const { [nameParameter]: name = '' } = textsOf(req);
  if (all.length <= FEW && name === '') return { items: all, filter: undefined, none: undefined };
  const sought = wordsOf(name);
  const has = (words: readonly string[]) => sought.every((one) => words.some((word) => word.startsWith(one)));
  const items = all.filter((item) => has(wordsOf(nameOf(item))));
  return {
    items,
    filter: filterForm({
      path,
      limits: { name },
      fields: input({ name: nameParameter, label: 'Name', type: 'search', value: name, autocomplete: 'off' }),
    }),
    none:
      items.length === 0
        ? empty(
            html`No name matches ${bdi(name)}. Try the beginning of a word, or <a href="${path}">show all</a>.`,
          )
        : undefined,
  };
}
