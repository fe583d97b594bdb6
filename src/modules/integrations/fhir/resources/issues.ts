import { isJsonObject } from '../../../../domain/events/event.ts';
import { type ErrorCode, ServiceError } from '../../../../platform/errors.ts';
import { fieldSentence } from '../../fields.ts';
import type { Mapping } from '../../mapping.ts';
import type { OperationResult, Origins } from '../../operations.ts';
import type { Period, Reference } from './elements.ts';

const address = (type: string, lines = ['address_line_1', 'address_line_2']) => ({
  [lines[0] as string]: `${type}.address.line`,
  [lines[1] as string]: `${type}.address.line`,
  city: `${type}.address.city`,
  state: `${type}.address.state`,
  zip_code: `${type}.address.postalCode`,
  country: `${type}.address.country`,
});
const name = (type: string) => ({
  first_name: `${type}.name.given`,
  last_name: `${type}.name.family`,
});
const telecom = (type: string, ...fields: string[]) =>
  Object.fromEntries(fields.map((field) => [field, `${type}.telecom`]));
const facility = (type: string) => ({
  id: `${type}.id`,
  name: `${type}.name`,
  npi: `${type}.identifier`,
  tax_id: `${type}.identifier`,
  clia_number: `${type}.identifier`,
  ...telecom(type, 'phone', 'fax', 'email'),
  ...address(type),
});

/** By the type of a resource, the FHIRPath of the element from which a field of its record is taken. */
export const fieldPaths: Partial<Record<string, Record<string, string>>> = {
  Patient: {
    id: 'Patient.id',
    ...name('Patient'),
    date_of_birth: 'Patient.birthDate',
    gender: 'Patient.gender',
    ssn_last4: 'Patient.identifier',
    ...telecom('Patient', 'phone', 'email'),
    ...address('Patient'),
    merged_into: 'Patient.link.other',
  },
  Coverage: {
    payer_id: 'Coverage.payor',
    policy_number: 'Coverage.identifier',
    group_number: 'Coverage.class',
    effective_date: 'Coverage.period.start',
    termination_date: 'Coverage.period.end',
    subscriber_id: 'Coverage.subscriberId',
    subscriber_relationship: 'Coverage.relationship',
    subscriber_first_name: 'Coverage.subscriber',
    subscriber_last_name: 'Coverage.subscriber',
    subscriber_date_of_birth: 'Coverage.subscriber',
    subscriber_address_line_1: 'Coverage.subscriber',
    subscriber_city: 'Coverage.subscriber',
    subscriber_state: 'Coverage.subscriber',
    subscriber_zip_code: 'Coverage.subscriber',
    subscriber_country: 'Coverage.subscriber',
  },
  Organization: {
    ...facility('Organization'),
    payer_code: 'Organization.identifier',
    ...telecom('Organization', 'contact_phone', 'contact_email', 'website'),
    ...address('Organization', ['address_line1', 'address_line2']),
  },
  Location: facility('Location'),
  Practitioner: {
    id: 'Practitioner.id',
    ...name('Practitioner'),
    npi: 'Practitioner.identifier',
    ...telecom('Practitioner', 'phone', 'email'),
    ...address('Practitioner'),
  },
  PractitionerRole: {
    taxonomy_code: 'PractitionerRole.specialty',
    specialty: 'PractitionerRole.specialty',
  },
  Encounter: {
    id: 'Encounter.id',
    patient_id: 'Encounter.subject',
    provider_id: 'Encounter.participant.individual',
    rendering_provider_id: 'Encounter.participant.individual',
    facility_id: 'Encounter.location.location',
    date_of_service: 'Encounter.period.start',
    visit_type: 'Encounter.class',
    status: 'Encounter.status',
    is_completed: 'Encounter.status',
    voided_at: 'Encounter.status',
    void_reason: 'Encounter.status',
  },
  DocumentReference: {
    document_id: 'DocumentReference.id',
    category: 'DocumentReference.type',
    filename: 'DocumentReference.content.attachment.title',
    file: 'DocumentReference.content.attachment',
  },
};

/**
 * Returns the element from which a field of a record, dotted when nested, is taken in a resource of a type; the
 * resource where there is none.
 */
function expressionOf(type: string, field: string): string {
  const last = field.split('.').at(-1) ?? '';
  return fieldPaths[type]?.[field] ?? fieldPaths[type]?.[last] ?? fieldPaths.Coverage?.[last] ?? type;
}

/** Codes of `IssueType` that are used (FHIR R4, value set issue-type). */
type IssueCode =
  | 'required'
  | 'value'
  | 'invalid'
  | 'not-found'
  | 'not-supported'
  | 'informational'
  | 'conflict'
  | 'deleted'
  | 'forbidden'
  | 'security'
  | 'login'
  | 'structure'
  | 'throttled'
  | 'too-long'
  | 'timeout'
  | 'transient'
  | 'exception';

/** What is wrong in a resource, or remarked on: one `OperationOutcome.issue`. */
export interface Issue {
  /** `error`: nothing of the resource is accepted. */
  severity: 'error' | 'warning' | 'information';
  code: IssueCode;
  /** FHIRPath of the element: `Patient.birthDate`. */
  expression: string;
  /** What to do about it; never the value. */
  diagnostics: string;
}

export function refused(code: IssueCode, expression: string, diagnostics: string): Issue {
  return { severity: 'error', code, expression, diagnostics };
}

export function remarked(code: IssueCode, expression: string, diagnostics: string): Issue {
  return { severity: 'warning', code, expression, diagnostics };
}

/** The FHIR codes of the service's refusals. */
export const issueCodes: Partial<Record<ErrorCode, IssueCode>> = {
  validation_failed: 'invalid',
  malformed_body: 'structure',
  reference_not_found: 'not-found',
  unauthorized: 'login',
  key_deactivated: 'security',
  key_expired: 'security',
  address_not_allowed: 'security',
  workspace_deactivated: 'security',
  permission_denied: 'forbidden',
  gone: 'deleted',
  previously_erased: 'deleted',
  return_pending: 'conflict',
  not_found: 'not-found',
  method_not_allowed: 'not-supported',
  not_acceptable: 'not-supported',
  request_timeout: 'timeout',
  conflict: 'conflict',
  version_conflict: 'conflict',
  payload_too_large: 'too-long',
  unsupported_media_type: 'not-supported',
  rate_limited: 'throttled',
  overloaded: 'transient',
  unavailable: 'transient',
  unreadable: 'transient',
};

/** Returns the issues in the result of a resource of a type: why it was refused, or remarks on its record. */
export function issuesOf(type: string, result: OperationResult | undefined): Issue[] {
  if (result === undefined) return [];
  if ('error' in result) return refusalIssues(type, result.error);
  if (result.outcome === 'left_out') return [];
  return result.warnings.map(({ field, message }) =>
    remarked('value', expressionOf(type, field), fieldSentence(field, message)),
  );
}

function refusalIssues(type: string, error: unknown): Issue[] {
  if (!(error instanceof ServiceError)) return [refused('exception', type, 'The service failed.')];
  const code = issueCodes[error.code] ?? 'exception';
  if (error.details === undefined) return [refused(code, type, error.message)];
  return error.details.map(({ field, message }) =>
    refused(code, expressionOf(type, field), fieldSentence(field, message)),
  );
}

/** A field of a record that names another record, before it is known which one. */
export interface FieldReference {
  field: string;
  /** Kind of the record that it names. */
  kind: string;
  reference: Reference;
  /** FHIRPath of the element. */
  expression: string;
  /** The reference to use instead where nothing is found. */
  otherwise?: FieldReference | undefined;
}

/** What a resource says about a record: whatever it does not mention stays as it is there. */
export interface MappedRecord {
  of: 'record';
  kind: string;
  fields: Record<string, unknown>;
  references: FieldReference[];
  /** For a patient, those who were merged into them. */
  merged?: FieldReference[];
  /** The origins of fields that come from an element other than the usual one. */
  origins?: Origins | undefined;
  issues: Issue[];
}

/** What a resource without a record of its own says about a provider. */
export interface MappedRole extends Omit<MappedRecord, 'of'> {
  of: 'role';
  /** Whose role it is. */
  practitioner: Reference | undefined;
}

/** What a resource says about a patient's insurance; its rank depends on what else the patient has. */
export interface MappedCoverage {
  of: 'coverage';
  fields: Record<string, unknown>;
  patient: Reference | undefined;
  /** Who pays; the first that is not a person counts. */
  payors: readonly Reference[];
  subscriber: Reference | undefined;
  period: Period | undefined;
  /** Only an active one counts. */
  isActive: boolean;
  /** Which of those in force comes first: it is not a rank, and may have gaps. */
  order: number | undefined;
  /** Used only where the message has no other insurance of the patient. */
  isHearsay: boolean;
  origins?: Origins | undefined;
  issues: Issue[];
}

/** A document of an encounter. */
interface MappedDocument {
  of: 'document';
  encounter: Reference | undefined;
  category: string;
  fileName: string;
  bytes: Buffer;
  origins?: Origins | undefined;
  issues: Issue[];
}

/** Recognized, but not used. */
export interface NothingMapped {
  of: 'nothing';
  issues: Issue[];
}

export type Mapped = MappedRecord | MappedRole | MappedCoverage | MappedDocument | NothingMapped;

/** How to interpret a resource. */
export interface MappingContext {
  /** The moment at which periods are in force or not, in milliseconds since 1970. */
  at: number;
  /** IANA name of the time zone of times that have no offset. */
  timeZone: string;
  /** By the type of a resource, the system of the identifier that is the record's id. */
  idSystems: Partial<Record<string, string>>;
  /** The source's own mapping, in place of the usual rules. */
  mapping: Mapping;
}

interface Place {
  at: string;
  value: unknown;
}

/**
 * Returns where a resource states a value, as a FHIRPath with array indexes: the first place below the element that
 * states exactly that; otherwise the element itself, as far as there is only one of it.
 */
export function placeIn(resource: unknown, path: string, value: unknown): string {
  const [type = '', ...steps] = path.split('.');
  let found: Place[] = eachOf({ at: type, value: resource });
  for (const step of steps) {
    found = found.flatMap((one) => (isJsonObject(one.value) ? eachOf(stepInto(one, one.value, step)) : []));
  }
  const said = found.flatMap(leavesOf).find((leaf) => leaf.value === value);
  if (said) return said.at;
  const [only, another] = found;
  return only && another === undefined ? only.at : path;
}

function stepInto({ at }: Place, parent: Record<string, unknown>, step: string): Place {
  return { at: `${at}.${step}`, value: Object.hasOwn(parent, step) ? parent[step] : undefined };
}

/** Returns the elements of a place that is an array. */
function eachOf({ at, value }: Place): Place[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) return [{ at, value }];
  return value.map((one, index) => ({ at: `${at}[${index}]`, value: one }));
}

/** Returns the texts, numbers and booleans at and below a place. */
function leavesOf(place: Place): Place[] {
  const leaves: Place[] = [];
  const open = [place];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    const { value } = one;
    if (isJsonObject(value)) {
      const inside = one;
      open.push(
        ...Object.keys(value)
          .flatMap((step) => eachOf(stepInto(inside, value, step)))
          .toReversed(),
      );
    } else leaves.push(one);
  }
  return leaves;
}
