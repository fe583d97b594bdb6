import type { DocumentPorts } from '../../commands/uploadDocument.ts';
import type { ProcessHealth } from '../../health/readiness.ts';
import type { HistoryPorts } from '../../reads/history/versionPage.ts';
import { catalog } from '../../records/catalog.ts';
import { buildDocument } from '../document/buildDocument.ts';
import { routeOf } from '../endpoint/endpoint.ts';
import type { FhirPorts } from '../fhir/carryMessage.ts';
import type { IdempotencyPorts } from '../idempotency/once.ts';
import type { Route } from '../server/serveEndpoint.ts';
import type { BatchPorts } from './batch/carryOut.ts';
import { sendBatch } from './batch/sendBatch.ts';
import { documentEndpoints } from './documents/documentEndpoints.ts';
import { eventEndpoints } from './events/eventEndpoints.ts';
import type { EventsPorts } from './events/readEvents.ts';
import type { ProofPorts } from './history/answerProof.ts';
import { receiveMessages } from './hl7/receiveMessages.ts';
import { acknowledgeBillingChanges } from './readiness/acknowledgeBillingChanges.ts';
import { readEncounterReadiness } from './readiness/readEncounterReadiness.ts';
import { readReadinessWorklist } from './readiness/readReadinessWorklist.ts';
import { recordEncounterBilled } from './readiness/recordEncounterBilled.ts';
import { recordEndpoints } from './records/recordEndpoints.ts';
import { listRefusedRequests } from './requests/listRefusedRequests.ts';
import { readRefusedRequest } from './requests/readRefusedRequest.ts';
import { searchRecords } from './search/searchRecords.ts';
import { readHealth } from './service/readHealth.ts';
import { readOpenApi } from './service/readOpenApi.ts';
import { readReadiness } from './service/readReadiness.ts';
import type { WebhookRoutePorts } from './webhooks/webhookAddress.ts';
import { webhookEndpoints } from './webhooks/webhookEndpoints.ts';

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
