import { type AuditTally, timeBounds } from '../../../projections/auditTally.ts';
import type { Role } from '../../modules/auth/user.ts';
import { barChart, type ChartPoint } from '../components/chart.ts';
import { type Html, html } from '../components/html.ts';
import { requestsPath } from '../components/requestPaths.ts';
import { phiReaders, requestReaders } from '../components/route.ts';
import { table } from '../components/table.ts';
import { empty } from '../components/text.ts';
import { wordsOf } from '../components/words.ts';
import type { Overview } from './overviewFigures.ts';
import { auditPath, limitsOfBar, linked, refusalLink, startOf, total } from './overviewLinks.ts';
import { type Bar, ranges } from './ranges.ts';

/** What a row of bars shows. */
interface Series {
  /** How the summary begins, such as `Requests`. */
  name: string;
  countOf(bar: Bar): number;
  tone?: 'bad';
  /** Below `/dashboard`, for users with one of these roles. */
  pathOf(bar: Bar): string;
  readers: readonly Role[];
}

export function requestSeries(overview: Overview): Html {
  return series(overview, {
    name: 'Requests',
    countOf: ({ requests }) => requests,
    pathOf: (bar) => auditPath(overview.workspace, { ...limitsOfBar(bar), without_views: 'yes' }),
    readers: phiReaders,
  });
}

export function writeSeries(overview: Overview): Html {
  const only = { outcome: 'accepted', without_views: 'yes' };
  return series(overview, {
    name: 'Writes',
    countOf: ({ writes }) => writes,
    pathOf: (bar) => auditPath(overview.workspace, { ...limitsOfBar(bar), ...only }),
    readers: phiReaders,
  });
}

export function refusalSeries(overview: Overview): Html {
  return series(overview, {
    name: 'Refusals',
    countOf: ({ refused }) => total(refused),
    tone: 'bad',
    pathOf: (bar) => requestsPath(overview.workspace, limitsOfBar(bar)),
    readers: requestReaders,
  });
}

/** Returns how long records take to be in the log: for each bar, the time that 99 % of them kept within. */
export function timeSeries(overview: Overview): Html {
  const { bars, sum, range, workspace, may } = overview;
  const { per, words } = ranges[range];
  if (total(sum.times) === 0) return empty(`No record was sent individually in ${words}.`);
  const points = bars.map((bar) => {
    const path = auditPath(workspace, { ...limitsOfBar(bar), outcome: 'accepted', without_views: 'yes' });
    const value = timeWithin(bar, 0.99);
    return { name: bar.name, value, ...linked(may(phiReaders) && value > 0, path, `times-${bar.from}`) };
  });
  const within = (share: number) => `${timeWithin(sum, share).toLocaleString('en-US')} ms`;
  return html`<p class="chart-total"><strong>${within(0.5)}</strong> <span class="muted">median, 99% within ${within(0.99)}</span></p>
${barChart(`Milliseconds per ${per} within which 99% of records were logged: ${within(0.99)} in ${words}`, points)}`;
}

/** Returns the bound within which this share of the times lies, in milliseconds; 0 without any. */
export function timeWithin({ times }: AuditTally, share: number): number {
  const wanted = share * total(times);
  let seen = 0;
  for (const bound of timeBounds) {
    seen += times[String(bound)] ?? 0;
    if (seen > 0 && seen >= wanted) return bound;
  }
  return 0;
}

function series(overview: Overview, { name, countOf, tone, pathOf, readers }: Series): Html {
  const { bars, range, may } = overview;
  const points: ChartPoint[] = bars.map((bar) => {
    const value = countOf(bar);
    return {
      name: bar.name,
      value,
      ...linked(
        may(readers) && value > 0,
        pathOf(bar),
        `${name.toLowerCase().replaceAll(' ', '-')}-${bar.from}`,
      ),
    };
  });
  return totalledChart(name, points, range, tone);
}

/** Returns a chart below the sum of its bars. */
export function totalledChart(
  name: string,
  points: readonly ChartPoint[],
  range: Overview['range'],
  tone?: 'bad',
): Html {
  const { per, words } = ranges[range];
  const sum = points.reduce((all, { value }) => all + value, 0);
  const most = Math.max(...points.map(({ value }) => value));
  const peak = points.find(({ value }) => value === most)?.name;
  const summary =
    sum === 0
      ? `${name} per ${per}: none in ${words}`
      : `${name} per ${per}: ${sum} in ${words}, at most ${most}, at ${peak}`;
  return html`<p class="chart-total"><strong>${sum.toLocaleString('en-US')}</strong> <span class="muted">in ${words}</span></p>
${barChart(summary, points, tone)}`;
}

export function reasons(overview: Overview): Html {
  const { sum, range } = overview;
  const { words } = ranges[range];
  const sorted = Object.entries(sum.refused).sort(([, a], [, b]) => b - a);
  if (sorted.length === 0) return empty(`No refusals in ${words}.`);
  return table(
    `Refusals in ${words} by reason`,
    [
      { title: 'Reason', isHeader: true, cell: ([code]) => wordsOf(code) },
      {
        title: 'Refusals',
        cell: ([code, count]) =>
          refusalLink(overview, String(count), `refused-${code}`, { code, from: startOf(overview) }),
      },
    ],
    sorted,
  );
}

/** Returns the figures of the bars. */
export function barTable(overview: Overview): Html {
  const { words, per } = ranges[overview.range];
  return table<Bar>(
    `Figures for ${words}`,
    [
      { title: per.charAt(0).toUpperCase() + per.slice(1), isHeader: true, cell: ({ name }) => name },
      { title: 'Requests', cell: ({ requests }) => requests },
      { title: 'Writes', cell: ({ writes }) => writes },
      {
        title: 'Refusals',
        cell: (bar) =>
          refusalLink(overview, String(total(bar.refused)), `refused-at-${bar.from}`, limitsOfBar(bar)),
      },
      {
        title: '99% of records within',
        cell: (bar) => total(bar.times) > 0 && `${timeWithin(bar, 0.99)} ms`,
      },
    ],
    overview.bars.toReversed(),
  );
}
