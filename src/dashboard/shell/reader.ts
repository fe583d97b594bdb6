import { AsyncLocalStorage } from 'node:async_hooks';
import type { Visit } from './route.ts';

/** What every moment and every field of a page takes account of, without each page handing it on. */
export interface Reader {
  /** IANA; undefined: the reader sees UTC alone. */
  timeZone?: string | undefined;
  /** What the reader typed into a form of the page before; undefined: nothing. */
  typed?: Visit['form'] | undefined;
}

const readers = new AsyncLocalStorage<Reader>();

/** Makes a page for a reader. */
export function forReader<Made>(reader: Reader, make: () => Made): Made {
  return readers.run(reader, make);
}

/** For whom a page is being made. */
export function presentReader(): Reader {
  return readers.getStore() ?? {};
}
