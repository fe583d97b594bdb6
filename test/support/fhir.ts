import type { JsonObject } from '../../src/domain/events/event.ts';
import type { TestResponse } from './client.ts';
import { phi } from './phi.ts';
import { appendedBy, type TestService } from './service.ts';

export const FHIR_JSON = 'application/fhir+json';
const NPI = 'http://hl7.org/fhir/sid/us-npi';

/** Sends a resource, or a Bundle, as EMRs do. */
export function sendFhir(
  service: Pick<TestService, 'send'>,
  path: string,
  resource: unknown,
  headers: Record<string, string> = {},
  method = 'POST',
): Promise<TestResponse> {
  const body = JSON.stringify(resource);
  return service.send(path, { method, headers: { 'content-type': FHIR_JSON, ...headers }, body });
}

export const putFhir = (service: TestService, resource: JsonObject, headers: Record<string, string> = {}) =>
  sendFhir(service, `/fhir/${resource.resourceType}/${resource.id}`, resource, headers, 'PUT');

/** The record of an id, as it is read. */
export async function recordIn(service: TestService, plural: string, id: unknown) {
  return (await service.get(`/integration/${plural}/${encodeURIComponent(String(id))}`)).body.record;
}

/** The events that `work` had appended, as `appendedBy` tells them, but for accesses. */
export async function writtenBy(service: TestService, work: () => Promise<unknown>): Promise<string[]> {
  return (await appendedBy(service, work)).filter((line) => !line.startsWith('access: '));
}

/** How `writtenBy` names the stream of a record. */
export const inStream = (kind: string, id: unknown) => `clinic.${kind}-${encodeURIComponent(String(id))}`;

/** A Bundle that creates or replaces these by their ids, in this order. */
export function bundle(type: 'batch' | 'transaction', ...resources: JsonObject[]): JsonObject {
  const entry = resources.map((resource) => ({
    fullUrl: `urn:uuid:${resource.id}`,
    resource,
    request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` },
  }));
  return { resourceType: 'Bundle', type, entry };
}

let made = 0;
/** An id that nothing else has. */
export function freshId(name: string): string {
  return `${name}-${process.pid}-${made++}`;
}

export const referTo = (resource: JsonObject) => ({ reference: `urn:uuid:${resource.id}` });

export function fhirPatient(fields: JsonObject = {}): JsonObject {
  return {
    resourceType: 'Patient',
    id: freshId('fhir-patient'),
    name: [{ use: 'official', family: phi('Lovelace'), given: [phi('Ada'), 'M.'] }],
    gender: 'female',
    birthDate: '1980-02-29',
    ...fields,
  };
}

export function fhirPractitioner(fields: JsonObject = {}): JsonObject {
  return {
    resourceType: 'Practitioner',
    id: freshId('fhir-practitioner'),
    name: [{ family: 'Osler', given: ['William'] }],
    ...fields,
  };
}

export const npiOf = (value: string) => ({ system: NPI, value });

export function fhirEncounter(subject: JsonObject, fields: JsonObject = {}): JsonObject {
  return {
    resourceType: 'Encounter',
    id: freshId('fhir-encounter'),
    status: 'finished',
    class: { system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode', code: 'AMB' },
    subject,
    period: { start: '2026-03-14T09:30:00Z' },
    ...fields,
  };
}

export function fhirCoverage(
  beneficiary: JsonObject,
  payor: JsonObject,
  fields: JsonObject = {},
): JsonObject {
  return {
    resourceType: 'Coverage',
    id: freshId('fhir-coverage'),
    status: 'active',
    beneficiary,
    payor: [payor],
    ...fields,
  };
}

export function fhirPayer(fields: JsonObject = {}): JsonObject {
  return {
    resourceType: 'Organization',
    id: freshId('fhir-payer'),
    type: [{ coding: [{ system: 'http://terminology.hl7.org/CodeSystem/organization-type', code: 'pay' }] }],
    name: 'Elm Health',
    ...fields,
  };
}

/** The issues of an OperationOutcome: severity, code and where. */
export function issuesIn(
  outcome: { issue?: { severity: string; code: string; expression?: string[] }[] } = {},
): string[] {
  return (outcome.issue ?? []).map(({ severity, code, expression = [] }) =>
    `${severity} ${code} ${expression.join()}`.trim(),
  );
}

/** The statuses of the entries of an answered Bundle. */
export function statusesIn(answer: { entry: { response: { status: string } }[] }): number[] {
  return answer.entry.map(({ response }) => Number.parseInt(response.status, 10));
}
