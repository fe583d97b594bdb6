import { AsyncLocalStorage } from 'node:async_hooks';
import type { Visit } from './route.ts';

/** What every moment and every field of a page takes into account, without each page passing it on. */
export interface Reader {
  /** IANA; undefined: the reader sees only UTC. */
  timeZone?: string | undefined;
  /** What the reader typed into a form of the page earlier; undefined: nothing. */
  typed?: Visit['form'] | undefined;
}

const readers = new AsyncLocalStorage<Reader>();

/** Builds a page for a reader. */
export function forReader<Made>(reader: Reader, make: () => Made): Made {
  return readers.run(reader, make);
}

/** Returns the reader for whom a page is being built. */
export function presentReader(): Reader {
  return readers.getStore() ?? {};
}
