import type { Request } from 'express';

/** Searches that a session remembers, so that Back leads to each of them. */
const REMEMBERED = 20;

/** What somebody searched for. */
export interface RememberedSearch {
  /** The number by which its address names it. */
  number: number;
  workspace: string;
  text: string;
  /** Only among these. */
  kind?: string;
}

declare module 'express-session' {
  interface SessionData {
    /** The latest searches, kept in the session as no name may be in an address. */
    searches?: RememberedSearch[];
  }
}

/** Remembers a search; returns its number. */
export function rememberSearch({ session }: Request, search: Omit<RememberedSearch, 'number'>): number {
  const earlier = session.searches ?? [];
  const number = (earlier.at(-1)?.number ?? 0) + 1;
  session.searches = [...earlier, { number, ...search }].slice(-REMEMBERED);
  return number;
}

/** Returns the search with that number in a workspace; undefined when it is no longer remembered. */
export function rememberedSearch(
  { session }: Request,
  workspace: string,
  number: string | undefined,
): RememberedSearch | undefined {
  return session.searches?.find((one) => one.workspace === workspace && String(one.number) === number);
}
