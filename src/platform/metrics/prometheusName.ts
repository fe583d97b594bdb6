import { definitionOf, type MetricName } from './metricTable.ts';

/** Returns the Prometheus name of a metric. */
export function prometheusName(name: MetricName): string {
  const plain = name.replaceAll('.', '_');
  return definitionOf(name).kind === 'counter' ? `${plain}_total` : plain;
}
