import { definitionOf, type MetricName, metricDefinitions } from '../../src/platform/metrics/catalog.ts';
import { prometheusName } from '../../src/platform/metrics/metrics.ts';

import { code, page, table } from './markdown.ts';

const names = Object.keys(metricDefinitions) as MetricName[];

function rowOf(name: MetricName): string[] {
  const { kind, unit, description, attributes = {}, ofService } = definitionOf(name);
  const told = Object.entries(attributes).map(([attribute, values]) => `${code(attribute)}: ${values}`);
  return [
    code(name),
    code(prometheusName(name)),
    kind,
    code(unit),
    `${description}${ofService ? ' Of the whole service.' : ''}`,
    told.join('; '),
  ];
}

/** `docs/reference/metrics.md` */
export function metricsPage(): string {
  return page(
    'Metrics',
    'Every metric that the service exports, by its name in OpenTelemetry, and by the one that Prometheus finds at ' +
      '`METRICS_PORT`, where dots of attributes are underscores, too. A histogram has `_bucket`, `_sum` and `_count` there. Most are of ' +
      'the process that tells them: add them up over all processes. What is of the whole service is told alike by every process with the ' +
      'role that knows it: take the highest. No metric holds PHI, or an id. [Monitoring](../operate/monitoring.md) explains how they are ' +
      'collected.',
    table(['metric', 'in Prometheus', 'kind', 'unit', 'meaning', 'attributes'], names.map(rowOf)),
  );
}
