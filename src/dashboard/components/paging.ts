import type { Request } from 'express';
import { type Html, html } from './page.ts';

/** The query parameter that names the page of a list. */
const PAGE = 'page_token';
/** The query parameter that names the pages before it, so that the address of each page leads back. */
export const earlierParameter = 'earlier';
const SEPARATOR = '~';
/** Maximum number of pages that an address leads back; from there, to the first one. */
const MOST_EARLIER = 30;

/** What the links to the pages before and after a page are called. */
const linkTexts = {
  time: { previous: 'Newer', next: 'Older', further: 'Look further back' },
  list: { previous: 'Previous page', next: 'Next page', further: 'Keep looking' },
} as const;

interface Paging {
  /** Of the next page; null: there is none. */
  token: string | null;
  /** Default: newest first. */
  by?: keyof typeof linkTexts;
  /** The page is not full: what is left was not looked at yet. */
  isShort?: boolean;
  /** Where on the page the list begins. */
  part?: string;
}

/** Returns the links to the previous and the next page of the list at a request's address, which keep all that limits it. */
export function pageLinks(
  { originalUrl }: Request,
  { token, by = 'time', isShort = false, part = '' }: Paging,
): Html {
  const { pathname, searchParams } = new URL(originalUrl, 'http://localhost');
  const current = searchParams.get(PAGE);
  const earlier = (searchParams.get(earlierParameter) ?? '').split(SEPARATOR).filter(Boolean);
  const address = (page: string | undefined, before: readonly string[]) => {
    const query = new URLSearchParams(searchParams);
    query.delete(PAGE);
    query.delete(earlierParameter);
    if (page !== undefined) query.set(PAGE, page);
    if (before.length > 0) query.set(earlierParameter, before.slice(-MOST_EARLIER).join(SEPARATOR));
    return `${pathname}?${query.toString()}${part && `#${part}`}`;
  };
  const texts = linkTexts[by];
  if (current === null && token === null) return html``;
  return html`<nav class="pages no-print" aria-label="Pages">${
    current !== null &&
    html`<a href="${address(earlier.at(-1), earlier.slice(0, -1))}" rel="prev">${texts.previous}</a>`
  }${
    token !== null &&
    html` <a href="${address(token, current === null ? [] : [...earlier, current])}" rel="next">${isShort ? texts.further : texts.next}</a>`
  }</nav>`;
}
