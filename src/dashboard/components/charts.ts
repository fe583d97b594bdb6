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

/** How a chart is described and drawn. */
interface ChartShape {
  /** In words what the chart shows; a screen reader reads only that, and the points that are links. */
  summary: string;
  /** What the values count or measure, such as `requests` or `ms`. */
  unit: string;
  tone?: 'plain' | 'bad' | undefined;
}

/** Returns a change as a row of bars, drawn to be stretched: labels are text around it. */
export function barChart(shape: ChartShape, points: readonly ChartPoint[]): Html {
  const top = topOf(points);
  const drawn = points.map((point, at) => {
    const height = point.value === 0 ? 0 : Math.max(2, Math.round((point.value / top) * HEIGHT));
    const rect =
      height > 0 &&
      html`<rect x="${at * BAR}" y="${HEIGHT - height}" width="${BAR - GAP}" height="${height}"/>`;
    return column(point, at, rect);
  });
  return framed(shape, points, drawn);
}

/** Returns a stock as a line, drawn in the same way. */
export function lineChart(shape: ChartShape, points: readonly ChartPoint[]): Html {
  const top = topOf(points);
  const places = points.map(
    ({ value }, at) => `${at * BAR + (BAR - GAP) / 2},${Math.round((1 - value / top) * (HEIGHT - 2)) + 1}`,
  );
  const line = html`<polyline class="chart-line" points="${places.join(' ')}"/>`;
  const columns = points.map((point, at) => column(point, at));
  // A stock that stays as it is needs no value again.
  return framed(shape, points, [...columns, line], (at) => points[at]?.value !== points[at - 1]?.value);
}

/** Returns the upper end of the axis: a round number that halves into another one. */
function topOf(points: readonly ChartPoint[]): number {
  const most = Math.max(...points.map(({ value }) => value));
  for (let size = 1; ; size *= 10) {
    const top = [2, 4, 10].map((one) => one * size).find((one) => one >= most);
    if (top !== undefined) return top;
  }
}

/** A chart of more points has no room for the value of each. */
const MOST_VALUES = 31;

const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

function framed(
  { summary, unit, tone = 'plain' }: ChartShape,
  points: readonly ChartPoint[],
  drawn: Html[],
  hasValue = (_at: number) => true,
): Html {
  const top = topOf(points);
  const isLinked = points.some(({ link }) => link !== undefined);
  const width = points.length * BAR - GAP;
  const middle = points[Math.floor((points.length - 1) / 2)];
  return html`<div class="chart chart-${tone}">
<div class="chart-axis" aria-hidden="true"><span>${compact.format(top)}</span><span>${compact.format(top / 2)}</span><span>0</span></div>
<svg role="${isLinked ? 'group' : 'img'}" aria-label="${summary}" viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none">
<path class="chart-rule" d="M0 0.5H${width}M0 ${HEIGHT / 2}H${width}M0 ${HEIGHT - 0.5}H${width}"/>
${drawn}
</svg>
${
  points.length <= MOST_VALUES &&
  html`<div class="chart-values" aria-hidden="true">${points.map(({ value }, at) => html`<span>${value > 0 && hasValue(at) && compact.format(value)}</span>`)}</div>`
}
<div class="chart-ends" aria-hidden="true"><span>${points[0]?.name}</span><span>${middle?.name}</span><span>${points.at(-1)?.name}</span></div>
<div class="chart-peak" aria-hidden="true">${peakText(unit, points)}</div>
</div>`;
}

/** Returns the highest and the last value. */
function peakText(unit: string, points: readonly ChartPoint[]): string {
  const most = Math.max(...points.map(({ value }) => value));
  if (most === 0) return `No ${unit}`;
  const peak = points.find(({ value }) => value === most)?.name;
  const last = points.at(-1)?.value ?? 0;
  const name = unit.charAt(0).toUpperCase() + unit.slice(1);
  return `${name}: at most ${most.toLocaleString('en-US')} (${peak}), last ${last.toLocaleString('en-US')}`;
}

/** Returns the column of a point, which shows its value on hovering, however low it is; with what is drawn in it. */
function column({ name, value, link }: ChartPoint, at: number, drawn?: Html | false): Html {
  const title = `${name}: ${value}`;
  const group = html`<g><title>${title}</title><rect class="chart-column" x="${at * BAR}" width="${BAR}" height="${HEIGHT}"/>${drawn}</g>`;
  return link
    ? html`<a id="${link.id}" href="/dashboard${link.path}" aria-label="${title}">${group}</a>`
    : group;
}

/** What went well and what did not in a part of a time. */
interface StripPart {
  name: string;
  good: number;
  bad: number;
}

/**
 * Returns a strip with a cell for each part of a time: whether anything happened in it, and whether any of it was bad;
 * `isWhole`: nothing is left out of the counts.
 */
export function stateStrip(good: string, bad: string, parts: readonly StripPart[], isWhole: boolean): Html {
  const sum = (of: 'good' | 'bad') => parts.reduce((all, part) => all + part[of], 0);
  const [allGood, allBad] = [sum('good'), sum('bad')];
  const figure = (count: number) => count.toLocaleString('en-US');
  const counts = `${figure(allGood)} ${good}, ${figure(allBad)} ${bad}`;
  const words =
    allGood + allBad === 0
      ? 'nothing sent'
      : isWhole
        ? counts
        : `last ${figure(allGood + allBad)}: ${counts}`;
  const toneOf = (part: StripPart) => (part.bad > 0 ? 'bad' : part.good > 0 ? 'good' : 'none');
  return html`<span class="strip"><svg role="img" aria-label="${words}" viewBox="0 0 ${parts.length * BAR - GAP} 20" preserveAspectRatio="none">${parts.map(
    (part, at) =>
      html`<g><title>${part.name}: ${part.good} ${good}, ${part.bad} ${bad}</title><rect class="strip-${toneOf(part)}" x="${at * BAR}" width="${BAR - GAP}" height="20"/></g>`,
  )}</svg> <small class="muted nowrap" aria-hidden="true">${words}</small></span>`;
}

/** Returns how many items a list has, named in the singular or the plural; nothing where that is not known. */
export function total(known: Total | undefined, one: string, many: string): Html {
  if (known === undefined) return html``;
  return html`<p class="muted">${totalText(known)} ${known.count === 1 ? one : many}</p>`;
}

/** Returns how many there are: `1,000+` where there are more than were counted. */
export function totalText({ count, isMore }: Total): string {
  return `${count.toLocaleString('en-US')}${isMore ? '+' : ''}`;
}
