import type { RequestListener } from 'node:http';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  MeterProvider,
  type MetricProducer,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import type { Logger } from 'pino';
import { HttpServer } from '../api/server/HttpServer.ts';
import type { Config } from '../platform/config.ts';
import { describeError } from '../platform/errors.ts';
import type { SeriesReport } from '../platform/metrics/Series.ts';
import { version } from '../platform/version.ts';
import { MeasuredProcess } from './MeasuredProcess.ts';
import { recently } from './recently.ts';

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
export interface Reports {
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
  const metricProducers = [new MeasuredProcess(recently(COLLECT_MS, collect))];
  const { metricsPort, otlpMetricsUrl } = config;
  const prometheus =
    metricsPort === undefined
      ? undefined
      : new PrometheusExporter({ preventServerStart: true, withoutScopeInfo: true, metricProducers });
  const sender = otlpMetricsUrl === undefined ? undefined : sending(otlpMetricsUrl, logger, metricProducers);
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

function sending(
  url: string,
  logger: Logger,
  metricProducers: MetricProducer[],
): PeriodicExportingMetricReader {
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
