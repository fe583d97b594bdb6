import type { RequestListener } from 'node:http';
import { ValueType } from '@opentelemetry/api';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import {
  detectResources,
  emptyResource,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type CollectionResult,
  type DataPoint,
  DataPointType,
  type Histogram,
  MeterProvider,
  type MetricData,
  type MetricProducer,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import type { Logger } from 'pino';
import { HttpServer } from '../api/server/httpServer.ts';
import type { Config } from '../platform/config.ts';
import { describeError } from '../platform/errors.ts';
import { definitionOf, type MetricName } from '../platform/metrics/catalog.ts';
import type { SeriesReport } from '../platform/metrics/metrics.ts';
import { version } from '../platform/version.ts';

type Moment = DataPoint<number>['startTime'];

/** Everything that is measured, in the form in which OpenTelemetry's SDK reads external sources. */
class ProcessMetrics implements MetricProducer {
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

/** Returns `work` with its result cached for that long: calls in the meantime share it, also while it is pending. */
function recently<Result>(ms: number, work: () => Promise<Result>): () => Promise<Result> {
  let last: { result: Promise<Result>; until: number } | undefined;
  return () => {
    if (last === undefined || performance.now() > last.until) {
      const made = { result: work(), until: Number.POSITIVE_INFINITY };
      const settled = () => {
        made.until = performance.now() + ms;
      };
      made.result.then(settled, settled);
      last = made;
    }
    return last.result;
  };
}

/** However often it is requested. */
const COLLECT_MS = 1_000;
const SEND_EVERY_MS = 60_000;
/** The longest that a stop waits for the last values. */
const LAST_MS = 2_000;
const PATH = '/metrics';
const READINESS_PATH = '/readyz';

export interface ExportedMetrics {
  /** Where Prometheus finds them; undefined if not offered. */
  url: string | undefined;
  /** Sends the last values, and ends. */
  stop(): Promise<void>;
}

/** What the process reports about itself. */
interface Reports {
  collect(): Promise<SeriesReport[]>;
  /** Answered at `/readyz` of the same port. Never rejects. */
  readiness(): Promise<object>;
}

/**
 * Exports what `collect` returns: for Prometheus to fetch, and to a collector by OTLP, according to the settings. Rejects with
 * `unavailable` when the port cannot be used.
 */
export async function exportMetrics(
  config: Config,
  logger: Logger,
  { collect, readiness }: Reports,
): Promise<ExportedMetrics> {
  const metricProducers = [new ProcessMetrics(recently(COLLECT_MS, collect))];
  const { metricsPort, otlpMetricsUrl } = config;
  const prometheus =
    metricsPort === undefined
      ? undefined
      : new PrometheusExporter({ preventServerStart: true, withoutScopeInfo: true, metricProducers });
  const sender =
    otlpMetricsUrl === undefined ? undefined : await sending(otlpMetricsUrl, logger, metricProducers);
  const resource = resourceFromAttributes({ 'service.name': 'chartledger', 'service.version': version });
  const provider = new MeterProvider({
    // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence.
    resource: resource.merge(detectResources({ detectors: [envDetector] })),
    readers: [prometheus, sender].filter((reader) => reader !== undefined),
  });
  const server = prometheus && (await serve(prometheus, readiness, config, logger));
  return {
    url: server && `${server.url}${PATH}`,
    async stop() {
      await server?.drain();
      await provider.shutdown({ timeoutMillis: LAST_MS }).catch(() => undefined);
    },
  };
}

function serve(
  prometheus: PrometheusExporter,
  readiness: Reports['readiness'],
  config: Config,
  logger: Logger,
): Promise<HttpServer> {
  const { metricsHost: host, metricsPort: port = 0, keepAliveSeconds } = config;
  const listener: RequestListener = (req, res) => {
    if (req.method !== 'GET') res.writeHead(405, { Allow: 'GET' }).end();
    else if (req.url === PATH) prometheus.getMetricsRequestHandler(req, res);
    else if (req.url === READINESS_PATH) {
      readiness().then((body) => {
        res.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
      });
    } else res.writeHead(404).end();
  };
  const settings = { host, port, requestThreads: 1, keepAliveSeconds, drainSeconds: 0, prefix: 'METRICS_' };
  return HttpServer.listen(listener, settings, logger);
}

async function sending(
  url: string,
  logger: Logger,
  metricProducers: MetricProducer[],
): Promise<PeriodicExportingMetricReader> {
  const { OTLPMetricExporter } = await import('@opentelemetry/exporter-metrics-otlp-proto');
  const exporter = new OTLPMetricExporter({ url });
  const send = exporter.export.bind(exporter);
  exporter.export = (metrics, done) =>
    send(metrics, (result) => {
      if (result.error) logger.warn({ error: describeError(result.error) }, 'metrics were not accepted');
      done(result);
    });
  return new PeriodicExportingMetricReader({
    exporter,
    metricProducers,
    exportIntervalMillis: SEND_EVERY_MS,
  });
}
