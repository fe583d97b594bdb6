import { type Html, html } from '../components/html.ts';
import { type RangeName, ranges } from './ranges.ts';

/** Returns links to the other ranges of a page; `pathOf` is below `/dashboard`. */
export function rangeLinks(current: RangeName, pathOf: (range: RangeName) => string): Html {
  return html`<nav aria-label="Range"><p class="line">${(Object.keys(ranges) as RangeName[]).map(
    (range) =>
      html`<a href="/dashboard${pathOf(range)}"${range === current && html` aria-current="page"`}>${ranges[range].title}</a> `,
  )}</p></nav>`;
}
