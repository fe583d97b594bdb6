import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { Metrics, Sample } from './metrics.ts';

export const ALERTS = 'ops/alerts.yaml';

interface AlertRule {
  alert: string;
  expr: string;
  for?: string;
  annotations: { summary: string; runbook_url: string };
}

/** The rules as Prometheus is given them. */
export const alertRules: AlertRule[] = parse(readFileSync(ALERTS, 'utf8')).groups.flatMap(
  ({ rules }: { rules: AlertRule[] }) => rules,
);

/** What a process exported, earlier and now, and the seconds in between. */
export interface Scrapes {
  /** All since then, those below included. */
  all: readonly Metrics[];
  before: Metrics;
  now: Metrics;
  seconds: number;
}

/** Whether the expression of an alert holds, by what Prometheus knows of these scrapes; how long it has to is left aside. */
export function isFiring(name: string, scrapes: Scrapes): boolean {
  const rule = alertRules.find(({ alert }) => alert === name);
  if (rule === undefined) throw new Error(`there is no alert ${name}`);
  return rule.expr.split(' or ').some((expr) => holds(expr, scrapes));
}

const compared: Record<string, (value: number, limit: number) => boolean> = {
  '<': (value, limit) => value < limit,
  '>': (value, limit) => value > limit,
  '==': (value, limit) => value === limit,
};

function holds(expr: string, scrapes: Scrapes): boolean {
  const absent = /^absent\((.+)\)$/.exec(expr)?.[1];
  if (absent) return scrapes.now.select(...selector(absent)).length === 0;
  const [had, has] = expr.split(' unless ').map((part) => () => vector(part, scrapes));
  if (had && has) {
    const there = new Set(has().map(({ labels }) => JSON.stringify(labels)));
    return had().some(({ labels }) => !there.has(JSON.stringify(labels)));
  }
  const [, left = '', sign = '', limit] = /^(.*) ([<>]|==) ([\d.]+)$/.exec(expr) ?? [];
  const compare = compared[sign];
  if (compare === undefined) throw new Error(`this form is not known: ${expr}`);
  const [dividends = [], divisors] = left.split(' / ').map((part) => vector(part, scrapes));
  const [by] = divisors ?? [{ value: 1 }];
  const values = dividends.map(({ value }) => value / (by?.value ?? Number.NaN));
  return values.some((value) => compare(value, Number(limit)));
}

/** What an expression without operators comes to, of the forms that the rules have. */
function vector(expr: string, scrapes: Scrapes): Sample[] {
  const [, q, buckets] = /^histogram_quantile\(([\d.]+), (.+)\)$/.exec(expr) ?? [];
  if (q && buckets) return quantile(Number(q), vector(buckets, scrapes));
  const [, how = '', by = '', inner] =
    /^(sum|min|max|group)(?: by \(([\w, ]+)\) )?\((.+)\)$/.exec(expr) ?? [];
  if (inner) return aggregate(how, by.split(', '), vector(inner, scrapes));
  const [, over, ranged] = /^(last_over_time|changes)\((.+)\[\d+[md]\]\)$/.exec(expr) ?? [];
  if (over && ranged)
    return overTime(
      over,
      scrapes.all.map((one) => one.select(...selector(ranged))),
    );
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

/** Those of several scrapes as one: each with its last value, or with how often it changed. */
function overTime(how: string, scrapes: Sample[][]): Sample[] {
  const series = Map.groupBy(scrapes.flat(), ({ labels }) => JSON.stringify(labels));
  return [...series.values()].map((samples) => {
    const [{ labels }] = samples as [Sample];
    const values = samples.map(({ value }) => value);
    const changes = values.filter((value, index) => value !== (values[index - 1] ?? value)).length;
    return { labels, value: how === 'changes' ? changes : (values.at(-1) as number) };
  });
}

const aggregations: Record<string, (values: number[]) => number> = {
  sum: (values) => values.reduce((all, value) => all + value, 0),
  min: (values) => Math.min(...values),
  max: (values) => Math.max(...values),
  group: () => 1,
};

function aggregate(how: string, by: string[], samples: Sample[]): Sample[] {
  const labelsOf = ({ labels }: Sample) =>
    Object.fromEntries(by.flatMap((label) => (labels[label] === undefined ? [] : [[label, labels[label]]])));
  const groups = Map.groupBy(samples, (sample) => JSON.stringify(labelsOf(sample)));
  return [...groups.values()].map((group) => ({
    labels: labelsOf(group[0] as Sample),
    value: aggregations[how]?.(group.map(({ value }) => value)) as number,
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
