import { catalog } from '../../domain/records/catalog.ts';
import type { CatalogEntry } from '../../domain/records/schema/kind.ts';
import type { ProcessHealth } from '../../modules/health.ts';
import type { DocumentPorts } from '../../modules/records/commands/documents.ts';
import type { HistoryPorts } from '../../modules/records/queries/history.ts';
import { buildDocument } from '../openapi/document.ts';
import { routeOf } from '../schemas/endpoint.ts';
import type { Route } from '../server/dispatch.ts';
import type { IdempotencyPorts } from '../server/idempotency.ts';
import { sendBatch } from './batch.ts';
import type { BatchPorts } from './batchRunner.ts';
import { acknowledgeBillingChanges, recordEncounterBilled } from './billing.ts';
import { deleteDocument, downloadDocument, listDocuments, uploadDocument } from './documents.ts';
import { readAsyncApi, readEventSchema, readSnapshot } from './eventSchemas.ts';
import { type EventsPorts, readEvents } from './events.ts';
import type { FhirPorts } from './fhir.ts';
import {
  createResource,
  importLines,
  readCapabilities,
  sendBundle,
  updateResource,
} from './fhirResources.ts';
import { readDocumentHistory, readRecordHistory } from './history.ts';
import { receiveMessages } from './hl7.ts';
import { type ProofPorts, readDocumentProof, readRecordProof } from './proofs.ts';
import { readEncounterReadiness, readReadinessWorklist } from './readiness.ts';
import { listRecords, patchRecord, readRecord, upsertRecord } from './records.ts';
import { listRefusedRequests, readRefusedRequest } from './requests.ts';
import { searchRecords } from './search.ts';
import { readHealth, readOpenApi, readReadiness } from './service.ts';
import type { WebhookRoutePorts } from './webhookSchemas.ts';
import {
  createWebhook,
  deleteWebhook,
  listWebhookAttempts,
  listWebhooks,
  pingWebhook,
  readWebhook,
  replayWebhook,
  retryWebhook,
  rotateWebhookSecret,
  updateWebhook,
} from './webhooks.ts';

/** The endpoints of encounters' documents. */
const documentEndpoints = [
  uploadDocument,
  listDocuments,
  downloadDocument,
  deleteDocument,
  readDocumentHistory,
  readDocumentProof,
];

/** The endpoints of the event stream and its catalogue; `openapiPublic`: the catalogue needs no key. */
const eventEndpoints = (openapiPublic: boolean) => [
  readEvents(),
  readSnapshot(),
  readAsyncApi(openapiPublic),
  readEventSchema(openapiPublic),
];

/** The endpoints of a kind of record. */
const recordEndpoints = (entry: CatalogEntry) => [
  upsertRecord(entry),
  patchRecord(entry),
  listRecords(entry),
  readRecord(entry),
  readRecordHistory(entry),
  readRecordProof(entry),
];

/** The endpoints of webhooks. */
const webhookEndpoints = [
  createWebhook,
  listWebhooks,
  readWebhook,
  updateWebhook,
  deleteWebhook,
  rotateWebhookSecret,
  pingWebhook,
  retryWebhook,
  replayWebhook,
  listWebhookAttempts,
];

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

/** FHIR R4: described by its CapabilityStatement, with responses in FHIR's own forms. */
export function fhirRoutes(ports: FhirPorts): Route[] {
  return [
    { method: 'get', endpoint: readCapabilities() },
    { method: 'post', endpoint: sendBundle(ports) },
    // Before resources, whose type it would otherwise be taken for.
    { method: 'post', endpoint: importLines(ports) },
    { method: 'post', endpoint: createResource(ports) },
    { method: 'put', endpoint: updateResource(ports) },
  ];
}
