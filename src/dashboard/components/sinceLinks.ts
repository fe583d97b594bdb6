import { type Html, html } from './html.ts';
import { zoneName } from './momentFields.ts';
import { presentReader } from './reader.ts';
import { startOfDay } from './zonedTime.ts';

const DAY_MS = 86_400_000;

/**
 * Returns links to what a list shows since a usual moment: the present day is that of the reader. `sent` is what
 * limits the list.
 */
export function sinceLinks(path: string, sent: Record<string, string>): Html {
  const now = Date.now();
  const { to: _to, page_token: _token, ...kept } = sent;
  const link = (text: string, from: number) => {
    const query = new URLSearchParams({ ...kept, from: new Date(from).toISOString() });
    return html`<a href="${path}?${query.toString()}">${text}</a>`;
  };
  return html`<p class="line"><span class="muted">Since</span>
${link(`today (${zoneName()})`, startOfDay(now, presentReader().timeZone ?? 'UTC'))}
${link('24 hours ago', now - DAY_MS)}
${link('7 days ago', now - 7 * DAY_MS)}</p>`;
}
