import type { Request } from 'express';

/** Searches that a session remembers, so that Back leads to each of them. */
const MAX_SAVED = 20;

/** What somebody searched for: in all records, in a list of one kind, or in the reasons of legal holds. */
export interface RecentSearch {
  /** The number by which its address names it. */
  number: number;
  workspace: string;
  text: string;
}

/** The query parameter that has the number of a search. */
export const searchParameter = 'n';

declare module 'express-session' {
  interface SessionData {
    /** The latest searches, kept in the session as no name may be in an address. */
    searches?: RecentSearch[];
  }
}

/** Remembers a search; returns its number. */
export function saveSearch({ session }: Request, search: Omit<RecentSearch, 'number'>): number {
  const earlier = session.searches ?? [];
  const number = (earlier.at(-1)?.number ?? 0) + 1;
  session.searches = [...earlier, { number, ...search }].slice(-MAX_SAVED);
  return number;
}

/** Returns the search with that number in a workspace; undefined when it is no longer remembered. */
export function recentSearch(
  { session }: Request,
  workspace: string,
  number: string | undefined,
): RecentSearch | undefined {
  return session.searches?.find((one) => one.workspace === workspace && String(one.number) === number);
}
