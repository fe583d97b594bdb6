import type { Total } from '../../modules/records/queries/paging.ts';
import { type Html, html } from './page.ts';

export interface ChartPoint {
  /** What the bar stands for, such as `17:05 UTC`. */
  name: string;
  value: number;
  /** Where the bar leads, below `/dashboard`, if anywhere; `id` keeps the focus there when the chart is redrawn. */
  link?: { path: string; id: string };
}

const BAR = 10;
const GAP = 2;
const HEIGHT = 100;

/**
 * Returns a row of bars, drawn to be stretched: labels are text around it. `summary` says in words what the bars
 * show; a screen reader reads only that, and the bars that are links.
 */
export function barChart(
  summary: string,
  points: readonly ChartPoint[],
  tone: 'plain' | 'bad' = 'plain',
): Html {
  const most = Math.max(1, ...points.map(({ value }) => value));
  const isLinked = points.some(({ link }) => link !== undefined);
  const width = points.length * BAR - GAP;
  return html`<div class="chart chart-${tone}">
<span class="chart-most" aria-hidden="true">${most}</span>
<svg role="${isLinked ? 'group' : 'img'}" aria-label="${summary}" viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none">
<path class="chart-rule" d="M0 0.5H${width}M0 ${HEIGHT / 2}H${width}M0 ${HEIGHT - 0.5}H${width}"/>
${points.map(({ name, value, link }, at) => bar(at * BAR, value / most, `${name}: ${value}`, link))}
</svg>
<div class="chart-ends" aria-hidden="true"><span>${points[0]?.name}</span><span>${points.at(-1)?.name}</span></div>
</div>`;
}

/** `share` of the height; the whole column shows the title on hovering, however low the bar is. */
function bar(x: number, share: number, title: string, link: ChartPoint['link']): Html {
  const height = share === 0 ? 0 : Math.max(2, Math.round(share * HEIGHT));
  const drawn = html`<g><title>${title}</title><rect class="chart-column" x="${x}" width="${BAR}" height="${HEIGHT}"/>${
    height > 0 && html`<rect x="${x}" y="${HEIGHT - height}" width="${BAR - GAP}" height="${height}"/>`
  }</g>`;
  return link
    ? html`<a id="${link.id}" href="/dashboard${link.path}" aria-label="${title}">${drawn}</a>`
    : drawn;
}

/** What went well and what did not in a part of a time. */
interface StripPart {
  name: string;
  good: number;
  bad: number;
}

/** Returns a strip with a cell for each part of a time: whether anything happened in it, and whether any of it was bad. */
export function stateStrip(good: string, bad: string, parts: readonly StripPart[]): Html {
  const sum = (of: 'good' | 'bad') => parts.reduce((all, part) => all + part[of], 0);
  const [allGood, allBad] = [sum('good'), sum('bad')];
  const words = allGood + allBad === 0 ? 'nothing sent' : `${allGood} ${good}, ${allBad} ${bad}`;
  const toneOf = (part: StripPart) => (part.bad > 0 ? 'bad' : part.good > 0 ? 'good' : 'none');
  return html`<span class="strip"><svg role="img" aria-label="${words}" viewBox="0 0 ${parts.length * BAR - GAP} 20" preserveAspectRatio="none">${parts.map(
    (part, at) =>
      html`<g><title>${part.name}: ${part.good} ${good}, ${part.bad} ${bad}</title><rect class="strip-${toneOf(part)}" x="${at * BAR}" width="${BAR - GAP}" height="20"/></g>`,
  )}</svg> <small class="muted nowrap" aria-hidden="true">${words}</small></span>`;
}

/** A horizontal bar, under its name. */
interface RankedBar {
  name: string;
  value: number;
  /** Where it leads; a full address. */
  href: string;
  /** The page shows what it leads to. */
  isShown: boolean;
}

/** Returns bars one below the other, each with its name and value, as links; `label` says what they count. */
export function rankedBars(label: string, bars: readonly RankedBar[]): Html {
  const most = Math.max(1, ...bars.map(({ value }) => value));
  return html`<ol class="ranked" aria-label="${label}">${bars.map(
    ({ name, value, href, isShown }) =>
      html`<li><a href="${href}"${isShown && html` aria-current="true"`}>${name} <strong>${value.toLocaleString('en-US')}</strong></a>
<svg aria-hidden="true" viewBox="0 0 100 1" preserveAspectRatio="none"><rect width="${Math.max(1, Math.round((100 * value) / most))}" height="1"/></svg></li>`,
  )}</ol>`;
}

/** Returns how many items a list has, named in the singular or the plural; nothing where that is not known. */
export function total(known: Total | undefined, one: string, many: string): Html {
  if (known === undefined) return html``;
  const { count, isMore } = known;
  return html`<p class="muted">${count.toLocaleString('en-US')}${isMore && '+'} ${count === 1 ? one : many}</p>`;
}
