import { type Html, type HtmlValue, html } from './html.ts';

/** Returns what is known about one thing: names with their values. */
export function facts(pairs: readonly (readonly [name: HtmlValue, value: HtmlValue])[]): Html {
  return html`<dl class="facts">${pairs.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}
