import { definitionOf, type MetricName, metricDefinitions } from '../../src/platform/metrics/catalog.ts';
import { prometheusName } from '../../src/platform/metrics/metrics.ts';

import { code, page, table } from './markdown.ts';

const names = Object.keys(metricDefinitions) as MetricName[];

function rowOf(name: MetricName): string[] {
  const { kind, unit, description, attributes = {}, ofService } = definitionOf(name);
  const described = Object.entries(attributes).map(([attribute, values]) => `${code(attribute)}: ${values}`);
  return [
    code(name),
    code(prometheusName(name)),
    kind,
    code(unit),
    `${description}${ofService ? ' Of the whole service.' : ''}`,
    described.join('; '),
  ];
}

/** `docs/reference/metrics.md` */
export function metricsPage(): string {
  return page(
    'Metrics',
    'Every metric that the service exports, by its name in OpenTelemetry, and by the one that Prometheus finds at ' +
      '`METRICS_PORT`, where dots of attributes are also underscores. A histogram has `_bucket`, `_sum` and `_count` there. Most count ' +
      'only what the reporting process did: add them up over all processes. What concerns the whole service is reported by every process with the ' +
      'role that knows it: take the highest. No metric holds PHI, or an id. [Monitoring](../operate/monitoring.md) explains how they are ' +
      'collected.',
    table(['metric', 'in Prometheus', 'kind', 'unit', 'meaning', 'attributes'], names.map(rowOf)),
  );
}
