import type { Request } from 'express';
import type { EndpointListener, Route } from './serveEndpoint.ts';

const ID = '/:id';

/**
 * Upserts and reads of one thing are most of the traffic, and their paths are simple: they are found without the router, which
 * would cost as much as all else that is done for them. Another form of such a path goes through it to the same listener.
 */
export class Shortcuts {
  /** By path: posts. */
  readonly #posts = new Map<string, EndpointListener>();
  /** By what stands before the id: reads. */
  readonly #reads = new Map<string, EndpointListener>();

  /** Notes a route, if it is one of these. */
  add(method: Route['method'], route: string, listener: EndpointListener): void {
    const prefix = route.slice(0, -ID.length);
    if (method === 'post' && !route.includes(':')) this.#posts.set(route, listener);
    if (method === 'get' && route.endsWith(ID) && !prefix.includes(':')) this.#reads.set(prefix, listener);
  }

  /** What serves a request; the id of what is read, and that there is no query, are then noted where the router notes them. */
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

/** The id that the end of a path holds; undefined where that is for the router: none, one that is no text, or a query behind it. */
function plainId(text: string): string | undefined {
  if (text === '' || text.includes('?')) return undefined;
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
