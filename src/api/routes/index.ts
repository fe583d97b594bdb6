import { catalog } from '../../domain/records/catalog.ts';
import type { ProcessHealth } from '../../modules/health.ts';
import type { DocumentPorts } from '../../modules/records/commands/documents.ts';
import type { HistoryPorts } from '../../modules/records/queries/history.ts';
import { buildDocument } from '../openapi/document.ts';
import { routeOf } from '../schemas/endpoint.ts';
import type { Route } from '../server/dispatch.ts';
import type { IdempotencyPorts } from '../server/idempotency.ts';
import { readRecordAccesses } from './accesses.ts';
import { accessReportEndpoints } from './accessReport.ts';
import { readAudit } from './auditTrail.ts';
import { sendBatch } from './batch.ts';
import type { BatchPorts } from './batchRunner.ts';
import { billingEndpoints } from './billing.ts';
import { claimDraftEndpoints } from './claimDrafts.ts';
import { codeSetEndpoints } from './codeSets.ts';
import { consumerEndpoints } from './consumers.ts';
import { deidentificationEndpoints } from './deidentification.ts';
import { readDiff } from './differences.ts';
import { disclosureEndpoints } from './disclosures.ts';
import { documentEndpoints } from './documents.ts';
import { eventCatalogEndpoints } from './eventSchemas.ts';
import { type EventsPorts, readEvents } from './events.ts';
import type { FhirPorts } from './fhir.ts';
import { readDocumentHistory, readRecordHistory } from './history.ts';
import { receiveMessages } from './hl7.ts';
import { recordImport } from './imports.ts';
import { payerRuleEndpoints } from './payerRules.ts';
import { type ProofPorts, readDocumentProof, readRecordProof } from './proofs.ts';
import { readinessEndpoints } from './readiness.ts';
import { answerEndpoints } from './readinessAnswers.ts';
import { causeEndpoints } from './readinessCauses.ts';
import { reconcile } from './reconcile.ts';
import { recordEndpoints } from './records.ts';
import { requestEndpoints } from './requests.ts';
import { returnEndpoints } from './returned.ts';
import { searchRecords } from './search.ts';
import { healthEndpoints, readOpenApi, readOwnKey } from './service.ts';
import type { WebhookRoutePorts } from './webhookSchemas.ts';
import { webhookEndpoints } from './webhooks.ts';

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
  ...catalog.flatMap((entry) => [
    ...recordEndpoints(entry),
    readRecordHistory(entry),
    readRecordProof(entry),
    readRecordAccesses(entry),
  ]),
  ...disclosureEndpoints,
  ...readinessEndpoints,
  ...causeEndpoints,
  ...answerEndpoints,
  ...payerRuleEndpoints,
  ...codeSetEndpoints,
  ...claimDraftEndpoints,
  ...billingEndpoints,
  sendBatch,
  recordImport,
  reconcile,
  readDiff,
  receiveMessages,
  searchRecords,
  ...documentEndpoints,
  readDocumentHistory,
  readDocumentProof,
  ...webhookEndpoints,
  readEvents(),
  ...consumerEndpoints,
  ...eventCatalogEndpoints(openapiPublic),
  ...deidentificationEndpoints,
  ...requestEndpoints,
  ...returnEndpoints,
  readAudit,
  ...accessReportEndpoints,
  readOwnKey,
  readOpenApi(openapiPublic),
];

/** By who may read it. Building it takes some hundred milliseconds, a good part of a start. */
const built = new Map<boolean, object>();

/** Returns the description of the interface: of every endpoint that is served; built when it is first asked for. */
export function openapiDocument(openapiPublic: boolean, publicUrl = '/'): object {
  const document =
    built.get(openapiPublic) ?? buildDocument([...apiEndpoints(openapiPublic), ...healthEndpoints]);
  built.set(openapiPublic, document);
  return {
    ...document,
    servers: [{ url: publicUrl, description: 'The service that provides this document' }],
  };
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
