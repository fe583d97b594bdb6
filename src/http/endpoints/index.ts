import type { DocumentPorts } from '../../commands/uploadDocument.ts';
import type { HistoryPorts } from '../../reads/history/versionPage.ts';
import type { QueryPorts } from '../../reads/readRecord.ts';
import { catalog } from '../../records/catalog.ts';
import type { Endpoint } from '../server/endpoint.ts';
import { downloadEndpoint, listDocumentsEndpoint, removeEndpoint, uploadEndpoint } from './documents.ts';
import { asyncapiEndpoint, eventSchemaEndpoint } from './eventSchemas.ts';
import { type EventsPorts, eventsEndpoint } from './events.ts';
import { type HealthPorts, healthEndpoint, readyEndpoint } from './health.ts';
import { documentHistoryEndpoint, recordHistoryEndpoint } from './history.ts';
import { openapiEndpoint } from './openapi.ts';
import { listEndpoint, readEndpoint, upsertEndpoint } from './records.ts';
import { type WebhookRoutePorts, webhookRoutes } from './webhooks.ts';

export type AppPorts = DocumentPorts & QueryPorts & HistoryPorts & EventsPorts & WebhookRoutePorts;

export interface Route {
  method: 'get' | 'post' | 'patch' | 'delete';
  endpoint: Endpoint;
}

const get = (endpoint: Endpoint): Route => ({ method: 'get', endpoint });
const post = (endpoint: Endpoint): Route => ({ method: 'post', endpoint });

/** The integration interface; `openapiPublic`: its description needs no key. */
export function apiRoutes(ports: AppPorts, openapiPublic: boolean): Route[] {
  return [
    ...catalog.flatMap((entry) => [
      post(upsertEndpoint(ports, entry)),
      get(listEndpoint(ports, entry)),
      get(readEndpoint(ports, entry)),
      get(recordHistoryEndpoint(ports, entry)),
    ]),
    post(uploadEndpoint(ports)),
    get(listDocumentsEndpoint(ports)),
    get(downloadEndpoint(ports)),
    get(documentHistoryEndpoint(ports)),
    { method: 'delete', endpoint: removeEndpoint(ports) },
    get(eventsEndpoint(ports)),
    ...webhookRoutes(ports),
    get(asyncapiEndpoint(openapiPublic)),
    get(eventSchemaEndpoint(openapiPublic)),
    get(openapiEndpoint(openapiPublic, ports.publicUrl)),
  ];
}

/** What every process answers, whatever its role. */
export function healthRoutes(ports: HealthPorts): Route[] {
  return [get(healthEndpoint), get(readyEndpoint(ports))];
}
