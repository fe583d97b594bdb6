import { ChartledgerError } from './ChartledgerError.ts';
import type { Answer, Api, Connection, Reply } from './Connection.ts';
import type { CallOptions } from './types.ts';

/** A page of a list. */
export interface Page<Item> {
  items: Item[];
  /** Give it as `page_token` to begin with the next page; null after the last one. */
  next_page_token: string | null;
  /** Ids of items that belong on the page, and that the service cannot read. */
  unreadable?: string[];
}

/** A list. Its pages are fetched as they are needed, by each reader from the first one on. */
export class List<Item, P extends Page<Item> = Page<Item>> implements AsyncIterable<Item> {
  readonly #read: (token: string | undefined) => Promise<Reply<P>>;

  /** `read` gives the page of a token, and the first one without. */
  constructor(read: (token: string | undefined) => Promise<Reply<P>>) {
    this.#read = read;
  }

  /**
   * Every item. After the last one it rejects with the code `unreadable` where the service could not read all of them: a list that
   * ends otherwise is complete.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    const unreadable: string[] = [];
    for await (const page of this.pages()) {
      yield* page.items;
      unreadable.push(...(page.unreadable ?? []));
    }
    if (unreadable.length > 0) throw ChartledgerError.unreadable(unreadable);
  }

  /** Every page, with the headers of its response, of which `Chartledger-Position` says up to where it has every write. */
  async *pages(): AsyncGenerator<P & { headers: Headers }, void, undefined> {
    let token: string | undefined;
    do {
      const { data, response } = await this.#read(token);
      yield { ...data, headers: response.headers };
      token = data.next_page_token ?? undefined;
    } while (token !== undefined);
  }
}

/** The list whose pages these requests give; `query` is empty for the first one, and has the token for the others. */
export function readPages<Item, P extends Page<Item>>(
  connection: Connection,
  send: (api: Api, query: { page_token?: string }) => Promise<Answer<P & Page<Item>>>,
  { signal }: CallOptions = {},
): List<Item, P> {
  return new List((page_token) =>
    connection.send((api) => send(api, page_token === undefined ? {} : { page_token }), { signal }),
  );
}
