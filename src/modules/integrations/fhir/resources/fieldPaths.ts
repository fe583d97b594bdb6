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
export function expressionOf(type: string, field: string): string {
  const last = field.split('.').at(-1) ?? '';
  return fieldPaths[type]?.[field] ?? fieldPaths[type]?.[last] ?? fieldPaths.Coverage?.[last] ?? type;
}
