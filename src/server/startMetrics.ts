import type { Logger } from 'pino';
import { readinessDetails } from '../api/routes/readReadiness.ts';
import { type ProcessHealth, readiness } from '../modules/readiness.ts';
import type { Config } from '../platform/config.ts';
import { measurements } from '../platform/metrics/Measurements.ts';
import type { ExportedMetrics } from './exportMetrics.ts';
import { observeProcess } from './observeProcess.ts';
import type { OpenStores } from './openApiPorts.ts';
import { serviceObservers } from './serviceObservers.ts';

/** Whether the settings request metrics. */
export function exportsMetrics({ metricsPort, otlpMetricsUrl }: Config): boolean {
  return metricsPort !== undefined || otlpMetricsUrl !== undefined;
}

/**
 * Exports the metrics of the process and, depending on its roles, of the service, if the settings request it. The SDK is loaded
 * only then.
 */
export async function startMetrics(
  config: Config,
  logger: Logger,
  stores: OpenStores,
  health: ProcessHealth,
): Promise<ExportedMetrics | undefined> {
  if (!exportsMetrics(config)) return undefined;
  const observers = serviceObservers(config, stores);
  const collect = async () => {
    const observed = await Promise.all([
      readiness(health).then(observeProcess),
      // Values of unavailable stores are left out.
      ...observers.map((observe) => observe().catch(() => [])),
    ]);
    return [...measurements.all(), ...observed.flat()];
  };
  const { exportMetrics } = await import('./exportMetrics.ts');
  const details = () => readinessDetails({ ...stores, ...health });
  return exportMetrics(config, logger, { collect, readiness: details });
}
