import { type KeyTally, MAX_KEYS } from '../../../projections/auditTally.ts';
import { type Html, type HtmlValue, html } from '../components/html.ts';
import { phiReaders } from '../components/route.ts';
import { table } from '../components/table.ts';
import { empty } from '../components/text.ts';
import { titleOf } from '../components/words.ts';
import type { Overview } from './overviewFigures.ts';
import { auditPath, figureLink, refusalLink, startOf, total } from './overviewLinks.ts';
import { ranges } from './ranges.ts';
import { lowestShare } from './webhookResults.ts';

/** Returns the totals of the whole range. */
export function tiles(overview: Overview): Html {
  const { sum, results, workspace, may } = overview;
  const from = startOf(overview);
  const figure = (value: number) => value.toLocaleString('en-US');
  const trail = (id: string, text: string, only: Record<string, string> = {}) =>
    figureLink(may(phiReaders), text, id, auditPath(workspace, { from, ...only, without_views: 'yes' }));
  const all: Record<string, HtmlValue> = {
    Requests: trail('to-requests', figure(sum.requests)),
    Writes: trail('to-writes', figure(sum.writes), { outcome: 'accepted' }),
    Refusals: refusalLink(overview, figure(total(sum.refused)), 'to-refusals', { from }),
    'Lowest share delivered to a webhook': lowestShare(results) ?? 'no attempts',
  };
  return html`<dl class="tiles">${Object.entries(all).map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`;
}

export function byKind(overview: Overview): Html {
  const { sum, range, workspace, may } = overview;
  const { words } = ranges[range];
  const sorted = Object.entries(sum.kinds).sort(([, a], [, b]) => b - a);
  if (sorted.length === 0) return empty(`No writes in ${words}.`);
  const path = (kind: string) =>
    auditPath(workspace, { from: startOf(overview), kind, outcome: 'accepted', without_views: 'yes' });
  return table(
    `Writes in ${words} by kind`,
    [
      { title: 'Kind', isHeader: true, cell: ([kind]) => titleOf(kind) },
      {
        title: 'Writes',
        cell: ([kind, count]) => figureLink(may(phiReaders), String(count), `written-${kind}`, path(kind)),
      },
    ],
    sorted,
  );
}

export function byKey(overview: Overview): Html {
  const { sum, range, workspace, may, nameOf } = overview;
  const { words } = ranges[range];
  const from = startOf(overview);
  const sorted = Object.entries(sum.keys).sort(([, a], [, b]) => b.requests - a.requests);
  if (sorted.length === 0) return empty(`No API key or source was used in ${words}.`);
  const trail = (id: string, name: string, text: number) =>
    figureLink(may(phiReaders), String(text), `${name}-${id}`, auditPath(workspace, { from, principal: id }));
  const isCut = sorted.length === MAX_KEYS;
  return html`${table<[string, KeyTally]>(
    `Requests in ${words} by API key or source`,
    [
      { title: 'API key or source', isHeader: true, cell: ([id]) => nameOf(id) },
      { title: 'Requests', cell: ([id, { requests }]) => trail(id, 'requests-of', requests) },
      { title: 'Writes', cell: ([id, { writes }]) => trail(id, 'writes-of', writes) },
      {
        title: 'Refusals',
        cell: ([id, { refused }]) =>
          refusalLink(overview, String(refused), `refused-to-${id}`, { key: id, from }),
      },
    ],
    sorted,
  )}
${isCut && html`<p class="muted">At most ${MAX_KEYS} are counted separately: those that came first.</p>`}`;
}
