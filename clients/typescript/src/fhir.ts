import type { ErrorDetail } from './types.ts';

/** A resource of FHIR R4, as JSON. */
export interface FhirResource {
  resourceType: string;
  [field: string]: unknown;
}

/** An operation that takes a body and is answered with one. */
interface Operation<Parameters, Body, Response> {
  parameters: Parameters;
  requestBody: { content: Body };
  responses: { 200: { content: Response }; 201: { content: Response } };
}

interface Json<Resource = FhirResource> {
  'application/fhir+json': Resource;
}

/** The paths of the FHIR interface, which describes itself in its CapabilityStatement, not in the OpenAPI document. */
export interface FhirPaths {
  /** A Bundle of the type `batch` or `transaction`. */
  '/fhir': { post: Operation<object, Json, Json> };
  '/fhir/{type}': {
    post: Operation<{ path: { type: string }; header?: { 'If-None-Exist'?: string } }, Json, Json>;
  };
  '/fhir/{type}/{id}': {
    put: Operation<{ path: { type: string; id: string }; header?: { 'If-Match'?: string } }, Json, Json>;
  };
  /** Bulk Data: one resource per line. */
  '/fhir/$import': {
    post: Operation<object, { 'application/fhir+ndjson': string }, { 'application/x-ndjson': string }>;
  };
  '/fhir/metadata': { get: { parameters: object; responses: { 200: { content: Json } } } };
}

interface Issue {
  diagnostics?: string;
  expression?: string[];
}

/** What an `OperationOutcome` says is wrong, as other refusals of the service do; nothing of what is none. */
export function refusalIn(body: object): { error?: string; details?: ErrorDetail[] } {
  const { resourceType, issue } = body as { resourceType?: string; issue?: Issue[] };
  if (resourceType !== 'OperationOutcome' || !Array.isArray(issue)) return {};
  const details = issue.map(({ expression = [], diagnostics = '' }) => ({
    field: expression.join(),
    message: diagnostics,
  }));
  return { error: details.map(({ message }) => message).join(' '), details };
}
