import { ValueType } from '@opentelemetry/api';
import { emptyResource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type CollectionResult,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import { definitionOf, type MetricName } from '../platform/metrics/metricTable.ts';
import type { SeriesReport } from '../platform/metrics/Series.ts';
import { version } from '../platform/version.ts';

type Moment = DataPoint<number>['startTime'];

/** Everything that is measured, in the form in which OpenTelemetry's SDK reads external sources. */
export class MeasuredProcess implements MetricProducer {
  readonly #collect: () => Promise<SeriesReport[]>;
  readonly #startTime = momentOf(performance.timeOrigin);

  constructor(collect: () => Promise<SeriesReport[]>) {
    this.#collect = collect;
  }

  async collect(): Promise<CollectionResult> {
    const byName = new Map<MetricName, SeriesReport[]>();
    for (const series of await this.#collect()) {
      const others = byName.get(series.name);
      if (others) others.push(series);
      else byName.set(series.name, [series]);
    }
    const times = { startTime: this.#startTime, endTime: momentOf(Date.now()) };
    const metrics = [...byName].map(([name, series]) => metricData(name, series, times));
    const scopeMetrics = [{ scope: { name: 'chartledger', version }, metrics }];
    return { resourceMetrics: { resource: emptyResource(), scopeMetrics }, errors: [] };
  }
}

function metricData(
  name: MetricName,
  series: SeriesReport[],
  times: { startTime: Moment; endTime: Moment },
): MetricData {
  const { kind, unit, description, boundaries = [] } = definitionOf(name);
  const metric = {
    descriptor: { name, unit, description, valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const pointsOf = <Value>(toValue: (values: number[]) => Value) =>
    series.map(({ attributes, values }) => ({ ...times, attributes, value: toValue(values) }));
  if (kind === 'histogram') {
    const dataPoints = pointsOf((values) => histogramOf(boundaries, values));
    return { ...metric, dataPointType: DataPointType.HISTOGRAM, dataPoints };
  }
  const dataPoints = pointsOf(([value = 0]) => value);
  return kind === 'gauge'
    ? { ...metric, dataPointType: DataPointType.GAUGE, dataPoints }
    : { ...metric, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints };
}

function histogramOf(boundaries: readonly number[], values: readonly number[]): Histogram {
  const counts = values.slice(0, -1);
  return {
    buckets: { boundaries: [...boundaries], counts },
    count: counts.reduce((total, count) => total + count, 0),
    sum: values.at(-1) as number,
  };
}

function momentOf(ms: number): Moment {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.round((ms - seconds * 1_000) * 1e6)];
}
