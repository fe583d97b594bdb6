/** A page of a list. */
export interface Page<Item> {
  items: Item[];
  next_page_token: string | null;
}

/** Every item of a list, page by page; `read` gives the page of a token, and the first one without. */
export async function* readPages<Item>(
  read: (token: string | undefined) => Promise<Page<Item>>,
): AsyncGenerator<Item, void, undefined> {
  let token: string | undefined;
  do {
    const page = await read(token);
    yield* page.items;
    token = page.next_page_token ?? undefined;
  } while (token !== undefined);
}
