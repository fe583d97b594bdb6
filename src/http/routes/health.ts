import type { DocumentStore } from '../../ports/documentStore.ts';
import type { StateStore } from '../../ports/stateStore.ts';
import { projectionStatus } from '../../queries/projectionStatus.ts';
import type { QueryPorts } from '../../queries/readRecord.ts';
import type { Endpoint } from '../endpoint.ts';

/** `GET /healthz`: the process answers. */
export const healthEndpoint: Endpoint = {
  route: '/healthz',
  access: 'public',
  query: 'ignored',
  handle: async () => ({ body: { status: 'ok' } }),
};

async function check(probe: () => Promise<unknown>): Promise<'ok' | 'unavailable'> {
  try {
    await probe();
    return 'ok';
  } catch {
    return 'unavailable';
  }
}

async function lags({ eventLog, readModels }: QueryPorts): Promise<Record<string, unknown>> {
  const statuses = await projectionStatus(eventLog, readModels);
  return Object.fromEntries(statuses.map(({ model, ...status }) => [model, status]));
}

/**
 * `GET /readyz`: whether requests can be served. 503 when the event log or the document store is away; without the
 * read models or the state store writes go on, so that is told and no more. Says how far each projection is behind the log.
 */
export function readyEndpoint(
  ports: QueryPorts & { stateStore: StateStore; documentStore: DocumentStore },
): Endpoint {
  return {
    route: '/readyz',
    access: 'public',
    query: 'ignored',
    async handle() {
      const [eventLog, readModels, stateStore, documentStore] = await Promise.all([
        check(() => ports.eventLog.head()),
        check(() => ports.readModels.checkpoint('ready')),
        check(() => ports.stateStore.check()),
        check(() => ports.documentStore.check()),
      ]);
      const ready = eventLog === 'ok' && documentStore === 'ok';
      const projecting = eventLog === 'ok' && readModels === 'ok' ? await lags(ports) : undefined;
      return {
        status: ready ? 200 : 503,
        ...(!ready && { headers: { 'Retry-After': '2' } }),
        body: {
          status: ready ? 'ready' : 'unavailable',
          event_log: eventLog,
          read_models: readModels,
          state_store: stateStore,
          document_store: documentStore,
          ...(projecting && { projections: projecting }),
        },
      };
    },
  };
}
