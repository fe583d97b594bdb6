import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { Metrics, Sample } from './metrics.ts';

export const ALERTS = 'ops/alerts.yaml';

export interface AlertRule {
  alert: string;
  expr: string;
  annotations: { summary: string; runbook_url: string };
}

/** The rules as Prometheus is given them. */
export const alertRules: AlertRule[] = parse(readFileSync(ALERTS, 'utf8')).groups.flatMap(
  ({ rules }: { rules: AlertRule[] }) => rules,
);

/** What a process exported, earlier and now, and the seconds in between. */
export interface Scrapes {
  before: Metrics;
  now: Metrics;
  seconds: number;
}

/** Whether the expression of an alert holds, by what Prometheus knows of these two scrapes; how long it has to is left aside. */
export function isFiring(name: string, scrapes: Scrapes): boolean {
  const rule = alertRules.find(({ alert }) => alert === name);
  if (rule === undefined) throw new Error(`there is no alert ${name}`);
  const absent = /^absent\((\w+)\)$/.exec(rule.expr)?.[1];
  if (absent) return scrapes.now.select(absent).length === 0;
  const [, left = '', sign, limit] = /^(.*) ([<>]) ([\d.]+)$/.exec(rule.expr) ?? [];
  if (sign === undefined) throw new Error(`this form is not known: ${rule.expr}`);
  const [dividends = [], divisors] = left.split(' / ').map((part) => vector(part, scrapes));
  const [by] = divisors ?? [{ value: 1 }];
  const values = dividends.map(({ value }) => value / (by?.value ?? Number.NaN));
  return values.some((value) => (sign === '<' ? value < Number(limit) : value > Number(limit)));
}

/** What an expression without operators comes to, of the forms that the rules have. */
function vector(expr: string, scrapes: Scrapes): Sample[] {
  const [, q, buckets] = /^histogram_quantile\(([\d.]+), (.+)\)$/.exec(expr) ?? [];
  if (q && buckets) return quantile(Number(q), vector(buckets, scrapes));
  const [, how, by, inner] = /^(sum|max)(?: by \((\w+)\) )?\((.+)\)$/.exec(expr) ?? [];
  if (inner) return aggregate(how === 'sum', by, vector(inner, scrapes));
  const counted = /^rate\((.+)\[\d+m\]\)$/.exec(expr)?.[1];
  if (counted) return rate(selector(counted), scrapes);
  const [name, matchers] = selector(expr);
  return scrapes.now.select(name, matchers);
}

function selector(expr: string): [name: string, matchers: Record<string, RegExp>] {
  const [, name, braces = ''] = /^(\w+)(?:\{(.*)\})?$/.exec(expr) ?? [];
  if (name === undefined) throw new Error(`this form is not known: ${expr}`);
  const matchers = [...braces.matchAll(/(\w+)=~?"([^"]*)"/g)].map(
    ([, label, value]) => [label, new RegExp(`^(?:${value})$`)] as const,
  );
  return [name, Object.fromEntries(matchers)];
}

function rate(
  [name, matchers]: [string, Record<string, RegExp>],
  { before, now, seconds }: Scrapes,
): Sample[] {
  const earlier = new Map(
    before.select(name, matchers).map((one) => [JSON.stringify(one.labels), one.value]),
  );
  return now.select(name, matchers).map(({ labels, value }) => ({
    labels,
    value: (value - (earlier.get(JSON.stringify(labels)) ?? 0)) / seconds,
  }));
}

function aggregate(isSum: boolean, by: string | undefined, samples: Sample[]): Sample[] {
  const groups = Map.groupBy(samples, ({ labels }) => (by === undefined ? '' : (labels[by] ?? '')));
  return [...groups].map(([label, group]) => ({
    labels: by === undefined ? {} : { [by]: label },
    value: group.reduce(
      (all, { value }) => (isSum ? all + value : Math.max(all, value)),
      isSum ? 0 : -Infinity,
    ),
  }));
}

/** The upper bound of the bucket in which the quantile is: Prometheus would say a value within it. */
function quantile(q: number, buckets: Sample[]): Sample[] {
  const rising = buckets
    .map(({ labels, value }) => ({
      bound: Number(labels.le === '+Inf' ? Infinity : labels.le),
      count: value,
    }))
    .sort((a, b) => a.bound - b.bound);
  const all = rising.at(-1)?.count ?? 0;
  const at = rising.findIndex(({ count }) => count >= q * all);
  if (all === 0) return [];
  // Beyond the last bound it says that one.
  const bound = (at === rising.length - 1 ? rising.at(-2) : rising[at])?.bound;
  return bound === undefined ? [] : [{ labels: {}, value: bound }];
}
