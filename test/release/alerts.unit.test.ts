import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { definitionOf, type MetricName, metricDefinitions } from '../../src/platform/metrics/catalog.ts';
import { prometheusName } from '../../src/platform/metrics/metrics.ts';
import { ALERTS, alertRules } from '../support/alertRules.ts';
import { runbookSections } from '../support/lint.ts';

const dashboard = JSON.parse(readFileSync('ops/grafana/chartledger.json', 'utf8'));
const queries: string[] = dashboard.panels.flatMap(({ targets = [] }: { targets?: { expr: string }[] }) =>
  targets.map(({ expr }) => expr),
);

/** By their names in Prometheus: the labels of what the service exports, and of what Prometheus adds about a target. */
const exported = new Map<string, string[]>([['up', []]]);
for (const name of Object.keys(metricDefinitions) as MetricName[]) {
  const { kind, attributes = {} } = definitionOf(name);
  const labels = Object.keys(attributes).map((attribute) => attribute.replaceAll('.', '_'));
  const plain = prometheusName(name);
  const names = kind === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => plain + end) : [plain];
  for (const one of names) exported.set(one, [...labels, ...(one.endsWith('_bucket') ? ['le'] : [])]);
}

const metricsIn = (expr: string) => expr.match(/\b(?:up\b|(?:chartledger|http|nodejs|process)_\w+)/g) ?? [];
/** Labels stand in braces, after `by`, and in the texts of alerts. */
const labelsIn = (text: string) =>
  [
    ...[...text.matchAll(/\{([^{}]*)\}/g)].flatMap(([, inner = '']) => inner.match(/\w+(?==)/g) ?? []),
    ...[...text.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/)),
    ...[...text.matchAll(/\$labels\.(\w+)/g)].map(([, label = '']) => label),
  ].filter((label) => label !== 'instance' && label !== 'job');

describe('alerts and dashboard', () => {
  const all = [
    ...alertRules.map(({ expr, annotations }) => [expr, annotations.summary].join(' ')),
    ...queries,
  ];

  test.each(all)('%s is about what the service exports', (text) => {
    const known = new Set([...exported.values()].flat());
    const metrics = metricsIn(text).filter((name) => !known.has(name));
    expect(metrics.length).toBeGreaterThan(0);
    expect(metrics.filter((name) => !exported.has(name))).toEqual([]);
    const labels = new Set(metrics.flatMap((name) => exported.get(name) ?? []));
    expect(labelsIn(text).filter((label) => !labels.has(label))).toEqual([]);
  });

  test('the dashboard shows every metric', () => {
    const shown = new Set(queries.flatMap(metricsIn));
    const missing = (Object.keys(metricDefinitions) as MetricName[])
      .map(prometheusName)
      .filter((name) => ![name, `${name}_bucket`, `${name}_count`].some((one) => shown.has(one)));
    expect(missing).toEqual([]);
  });
});

test('each alert leads to its own section of the runbook, and each section is of an alert', () => {
  expect(alertRules.map(({ alert }) => alert)).toEqual(runbookSections);
  for (const { alert, annotations } of alertRules)
    expect(annotations.runbook_url).toBe(
      `https://chartledger.example.com/docs/operate/runbook.md#${alert.toLowerCase()}`,
    );
});

test('each alert is brought about and mended by a test', () => {
  const tests = globSync('test/api/alertsOf*.process.test.ts').map((file) => readFileSync(file, 'utf8'));
  expect(
    alertRules.map(({ alert }) => alert).filter((alert) => !tests.join().includes(`'${alert}'`)),
  ).toEqual([]);
});

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
test.skipIf(!hasPromtool)('promtool takes the rules', () => {
  expect(execFileSync('promtool', ['check', 'rules', ALERTS], { encoding: 'utf8' })).toContain('SUCCESS');
});
