import type { Request } from 'express';
import type { EndpointListener, Route } from './serveEndpoint.ts';

const ID = '/:id';

/**
 * Upserts and reads of a single item are most of the traffic, and their paths are simple: they are found without the
 * router, which would cost as much as everything else done for them. Any other form of such a path reaches the same
 * listener through the router.
 */
export class Shortcuts {
  /** Posts, by path. */
  readonly #posts = new Map<string, EndpointListener>();
  /** Reads, by what precedes the id. */
  readonly #reads = new Map<string, EndpointListener>();

  /** Registers a route, if it is one of these. */
  add(method: Route['method'], route: string, listener: EndpointListener): void {
    const prefix = route.slice(0, -ID.length);
    if (method === 'post' && !route.includes(':')) this.#posts.set(route, listener);
    if (method === 'get' && route.endsWith(ID) && !prefix.includes(':')) this.#reads.set(prefix, listener);
  }

  /**
   * Returns what serves a request; the id of what is read, and the absence of a query, are then set where the router
   * sets them.
   */
  find(req: Request): EndpointListener | undefined {
    const { method, url } = req;
    if (method === 'POST') return this.#posts.get(url);
    if (method !== 'GET') return undefined;
    const slash = url.lastIndexOf('/');
    const listener = this.#reads.get(url.slice(0, slash));
    const id = listener && plainId(url.slice(slash + 1));
    if (id === undefined) return undefined;
    req.params = { id };
    req.query = {};
    return listener;
  }
}

/**
 * Returns the id at the end of a path; undefined where the router has to decide: no id, one that is not valid text,
 * or a query after it.
 */
function plainId(text: string): string | undefined {
  if (text === '' || text.includes('?')) return undefined;
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
