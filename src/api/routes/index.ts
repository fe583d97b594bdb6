import { catalog } from '../../domain/records/catalog.ts';
import type { ProcessHealth } from '../../modules/readiness.ts';
import type { DocumentPorts } from '../../modules/records/commands/uploadDocument.ts';
import type { HistoryPorts } from '../../modules/records/queries/versionPage.ts';
import { buildDocument } from '../openapi/buildDocument.ts';
import { routeOf } from '../schemas/endpoint.ts';
import type { IdempotencyPorts } from '../server/once.ts';
import type { Route } from '../server/serveEndpoint.ts';
import { acknowledgeBillingChanges } from './acknowledgeBillingChanges.ts';
import type { ProofPorts } from './answerProof.ts';
import type { FhirPorts } from './carryMessage.ts';
import type { BatchPorts } from './carryOut.ts';
import { documentEndpoints } from './documentEndpoints.ts';
import { eventEndpoints } from './eventEndpoints.ts';
import { listRefusedRequests } from './listRefusedRequests.ts';
import { readEncounterReadiness } from './readEncounterReadiness.ts';
import type { EventsPorts } from './readEvents.ts';
import { readHealth } from './readHealth.ts';
import { readOpenApi } from './readOpenApi.ts';
import { readReadiness } from './readReadiness.ts';
import { readReadinessWorklist } from './readReadinessWorklist.ts';
import { readRefusedRequest } from './readRefusedRequest.ts';
import { receiveMessages } from './receiveMessages.ts';
import { recordEncounterBilled } from './recordEncounterBilled.ts';
import { recordEndpoints } from './recordEndpoints.ts';
import { searchRecords } from './searchRecords.ts';
import { sendBatch } from './sendBatch.ts';
import type { WebhookRoutePorts } from './webhookAddress.ts';
import { webhookEndpoints } from './webhookEndpoints.ts';

export type AppPorts = BatchPorts &
  DocumentPorts &
  ProofPorts &
  HistoryPorts &
  EventsPorts &
  WebhookRoutePorts &
  IdempotencyPorts &
  FhirPorts;

/** The endpoints of the integration interface; `openapiPublic`: its descriptions need no key. */
const apiEndpoints = (openapiPublic: boolean) => [
  ...catalog.flatMap(recordEndpoints),
  readEncounterReadiness,
  readReadinessWorklist,
  recordEncounterBilled,
  acknowledgeBillingChanges,
  sendBatch,
  receiveMessages,
  searchRecords,
  ...documentEndpoints,
  ...webhookEndpoints,
  ...eventEndpoints(openapiPublic),
  listRefusedRequests,
  readRefusedRequest,
  readOpenApi(openapiPublic),
];

/** The endpoints that every process has, whatever its role. */
const healthEndpoints = [readHealth, readReadiness];

/** Returns the description of the interface: of every endpoint that is served. */
export function openapiDocument(openapiPublic: boolean, publicUrl?: string): object {
  return buildDocument([...apiEndpoints(openapiPublic), ...healthEndpoints], publicUrl);
}

/** Returns the routes of the integration interface. */
export function apiRoutes(ports: AppPorts, openapiPublic: boolean): Route[] {
  const describe = () => openapiDocument(openapiPublic, ports.publicUrl);
  return apiEndpoints(openapiPublic).map((endpoint) => routeOf(endpoint, { ...ports, describe }));
}

/** Returns the routes that every process serves. */
export function healthRoutes(ports: ProcessHealth): Route[] {
  return healthEndpoints.map((endpoint) => routeOf(endpoint, ports));
}
