import { ChartledgerError } from './ChartledgerError.ts';

/** A page of a list. */
export interface Page<Item> {
  items: Item[];
  next_page_token: string | null;
  /** Ids of items that belong on the page, and that the service cannot read. */
  unreadable?: string[];
}

/**
 * Every item of a list, page by page; `read` gives the page of a token, and the first one without. After the last one it rejects with
 * the code `unreadable` where the service could not read all of them: a list that ends otherwise is complete.
 */
export async function* readPages<Item>(
  read: (token: string | undefined) => Promise<Page<Item>>,
): AsyncGenerator<Item, void, undefined> {
  const unreadable: string[] = [];
  let token: string | undefined;
  do {
    const page = await read(token);
    yield* page.items;
    unreadable.push(...(page.unreadable ?? []));
    token = page.next_page_token ?? undefined;
  } while (token !== undefined);
  if (unreadable.length > 0) throw ChartledgerError.unreadable(unreadable);
}
