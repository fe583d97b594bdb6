import type { ChartPoint } from '../components/chart.ts';
import { type HtmlValue, html } from '../components/html.ts';
import { type RequestLimits, requestsPath } from '../components/requestPaths.ts';
import { requestReaders } from '../components/route.ts';
import type { Overview } from './overviewFigures.ts';
import { type Bar, iso, type RangeName } from './ranges.ts';

/** Returns the address of a workspace's overview, below `/dashboard`. */
export function overviewPath(workspace: string, range: RangeName): string {
  return `/workspaces/${workspace}?range=${range}`;
}

/** Returns the address of a workspace's audit trail within limits, below `/dashboard`. */
export function auditPath(workspace: string, limits: Record<string, string>): string {
  return `/workspaces/${workspace}/audit?${new URLSearchParams(limits).toString()}`;
}

/** Returns what limits a list to the time of a bar. */
export function limitsOfBar({ from, to }: Bar): { from: string; to: string } {
  return { from: iso(from), to: iso(to) };
}

/** Returns where the range begins, in ISO 8601. */
export function startOf({ bars }: Overview): string {
  return iso(bars[0]?.from ?? 0);
}

/** Returns what makes a bar a link, where it is one. */
export function linked(
  isLink: boolean,
  path: string | undefined,
  id: string,
): Pick<ChartPoint, 'link'> | undefined {
  return isLink && path !== undefined ? { link: { path, id } } : undefined;
}

/** Returns a figure, linked to what it counts for those who may see that; the path is below `/dashboard`. */
export function figureLink(mayFollow: boolean, text: string, id: string, path: string): HtmlValue {
  return mayFollow && text !== '0' ? html`<a id="${id}" href="/dashboard${path}">${text}</a>` : text;
}

/** The same for refused requests. */
export function refusalLink(
  { may, workspace }: Overview,
  text: string,
  id: string,
  limits: RequestLimits,
): HtmlValue {
  return figureLink(may(requestReaders), text, id, requestsPath(workspace, limits));
}

/** Returns the sum of counts. */
export function total(counts: Record<string, number>): number {
  return Object.values(counts).reduce((all, count) => all + count, 0);
}
