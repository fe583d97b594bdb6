import { expect, test } from 'vitest';
import { MetricsRegistry } from '../../src/platform/metrics/metrics.ts';

const LINES = 'chartledger.batch.lines';
const outcome = (value: string) => ({ 'chartledger.outcome': value });

test('counters of several threads are added up, and stay when a thread has ended', () => {
  const first = new MetricsRegistry();
  const other = new MetricsRegistry();
  first.counter(LINES, outcome('created')).add(2);
  other.counter(LINES, outcome('created')).add(3);
  other.counter(LINES, outcome('refused')).add();
  first.merge({ thread: 7, series: other.collectReport() });
  other.counter(LINES, outcome('created')).add(4);
  first.merge({ thread: 7, series: other.collectReport() });
  first.forget(7);
  expect(first.all()).toEqual([
    { name: LINES, attributes: outcome('created'), values: [9] },
    { name: LINES, attributes: outcome('refused'), values: [1] },
  ]);
});

test('gauges of several threads are added up, and go when a thread has ended', () => {
  const first = new MetricsRegistry();
  const other = new MetricsRegistry();
  first.gauge('chartledger.stream.open', {}).add(2);
  const gauge = other.gauge('chartledger.stream.open', {});
  gauge.add(1);
  first.merge({ thread: 7, series: other.collectReport() });
  gauge.add(2);
  first.merge({ thread: 7, series: other.collectReport() });
  expect(first.all().map(({ values }) => values)).toEqual([[5]]);
  first.forget(7);
  expect(first.all().map(({ values }) => values)).toEqual([[2]]);
});

test('histograms count values up to each boundary, beyond the last, and their sum', () => {
  const measurements = new MetricsRegistry();
  const histogram = measurements.histogram('chartledger.commit.size', {});
  for (const value of [1, 2, 3, 5_000]) histogram.observe(value);
  const [series] = measurements.all();
  expect(series?.values).toEqual([1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 5_006]);
});

test('a thread tells what changed, once, and is asked to when there is something', () => {
  const measurements = new MetricsRegistry();
  const counter = measurements.counter(LINES, outcome('created'));
  let told = 0;
  measurements.notifyOnChange(() => {
    told += 1;
  });
  measurements.collectReport();
  const before = told;
  counter.add();
  counter.add();
  expect(told - before).toBe(1);
  expect(measurements.collectReport().map(({ values }) => values)).toEqual([[2]]);
  expect(measurements.collectReport()).toEqual([]);
});
