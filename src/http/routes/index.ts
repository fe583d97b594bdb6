import type { DocumentPorts } from '../../commands/uploadDocument.ts';
import type { QueryPorts } from '../../queries/readRecord.ts';
import { catalog } from '../../records/catalog.ts';
import type { Endpoint } from '../endpoint.ts';
import { downloadEndpoint, listDocumentsEndpoint, removeEndpoint, uploadEndpoint } from './documents.ts';
import { healthEndpoint, readyEndpoint } from './health.ts';
import { openapiEndpoint } from './openapi.ts';
import { listEndpoint, readEndpoint, upsertEndpoint } from './records.ts';

export type AppPorts = DocumentPorts & QueryPorts;

export interface Route {
  method: 'get' | 'post' | 'delete';
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
    ]),
    post(uploadEndpoint(ports)),
    get(listDocumentsEndpoint(ports)),
    get(downloadEndpoint(ports)),
    { method: 'delete', endpoint: removeEndpoint(ports) },
    get(openapiEndpoint(openapiPublic)),
  ];
}

/** What every process answers, whatever its role. */
export function healthRoutes(ports: AppPorts): Route[] {
  return [get(healthEndpoint), get(readyEndpoint(ports))];
}
