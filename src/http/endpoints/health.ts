import { clockProblem } from '../../health/clockProblem.ts';
import { type ProcessHealth, readiness } from '../../health/readiness.ts';
import { systemClock } from '../../ports/clock.ts';
import { projectionStatus } from '../../reads/projectionStatus.ts';
import type { QueryPorts } from '../../reads/readRecord.ts';
import type { Endpoint } from '../server/endpoint.ts';

/** `GET /healthz`: the process answers. */
export const healthEndpoint: Endpoint = {
  route: '/healthz',
  permission: 'public',
  query: 'ignored',
  handle: async () => ({ body: { status: 'ok' } }),
};

async function lags({ eventLog, readModels }: QueryPorts): Promise<Record<string, unknown>> {
  const statuses = await projectionStatus(eventLog, readModels);
  return Object.fromEntries(statuses.map(({ model, ...status }) => [model, status]));
}

export type HealthPorts = QueryPorts & ProcessHealth;

/**
 * `GET /readyz`: whether this process can do its work, by its roles. A store that is away without which the work goes on
 * is told and no more. Says how far each projection is behind the log.
 */
export function readyEndpoint(ports: HealthPorts): Endpoint {
  return {
    route: '/readyz',
    permission: 'public',
    query: 'ignored',
    async handle() {
      const { ready, roles, degraded, stores } = await readiness(ports);
      const isProjecting = stores.event_log === 'ok' && stores.read_models === 'ok';
      const projections = isProjecting ? await lags(ports).catch(() => undefined) : undefined;
      const clock =
        stores.event_log === 'ok' && (await clockProblem(ports.eventLog, systemClock).catch(() => undefined));
      return {
        status: ready ? 200 : 503,
        ...(!ready && { headers: { 'Retry-After': '2' } }),
        body: {
          status: ready ? 'ready' : 'unavailable',
          roles,
          degraded,
          ...stores,
          ...(projections && { projections }),
          warnings: clock ? [clock] : [],
        },
      };
    },
  };
}
