import type { JsonObject } from '../../domain/events/event.ts';
import { addressList, coded, filled, humanName, systems, TERMINOLOGY } from '../../domain/fhirElements.ts';
import { billingEntityOf, billingProviderOf } from './rules/billingEntity.ts';
import { type BilledRecord, type BillingFacts, dayOf, type RuleSettings, textOf } from './rules/rule.ts';

/** What a claim needs besides: the service has none of it. */
export const missingFromDraft = ['diagnosis', 'lines', 'charges'] as const;

/** The extension that says from which record, in which version, a resource is made. */
export const RECORD_EXTENSION = 'urn:chartledger:fhir:record';

/**
 * Returns the draft of a claim for an encounter as a FHIR R4 `Claim` (use `claim`, status `draft`) with the records that it is based
 * on as contained resources, each with its version. The facility bills unless `settings` say otherwise. `created`: ISO 8601.
 */
export function claimDraft(facts: BillingFacts, settings: RuleSettings, created: string): JsonObject {
  const { encounter, patient, renderingProvider = facts.provider, facility, payer, claim } = facts;
  const provider = billingProviderOf(facts, settings);
  const organization = billingEntityOf(facts, settings) === 'provider' ? undefined : facility;
  const rendering = renderingProvider?.id === provider?.id ? undefined : renderingProvider;
  const insured = patient === undefined ? [] : coveragesOf(patient, payer);
  const coverages = insured.filter(({ resourceType }) => resourceType === 'Coverage');
  const contained = [
    ...(patient ? [patientOf(patient)] : []),
    ...(organization ? [organizationOf(organization)] : []),
    ...(provider ? [practitionerOf('provider', provider)] : []),
    ...(rendering ? [practitionerOf('rendering-provider', rendering)] : []),
    ...(facility ? [locationOf(facility)] : []),
    ...(payer ? [payerOf(payer)] : []),
    ...insured,
  ];
  const service = textOf(encounter, 'date_of_service');
  return {
    resourceType: 'Claim',
    ...(contained.length > 0 && { contained }),
    extension: [extensionOf(encounter)],
    identifier: [{ value: encounter.id }],
    status: 'draft',
    type: coded(`${TERMINOLOGY}/claim-type`, 'professional'),
    use: 'claim',
    patient: patient ? reference('patient') : unknown,
    ...(service !== undefined && { billablePeriod: { start: service, end: service } }),
    created,
    ...(payer && { insurer: reference('payer') }),
    provider: organization ? reference('organization') : provider ? reference('provider') : unknown,
    priority: coded(`${TERMINOLOGY}/processpriority`, 'normal'),
    ...(claim?.number !== undefined && { related: [replacedBy(claim.id, claim.number)] }),
    ...(facility && { facility: reference('facility') }),
    ...(rendering && {
      careTeam: [
        {
          ...{ sequence: 1, provider: reference('rendering-provider') },
          role: coded(`${TERMINOLOGY}/claimcareteamrole`, 'primary'),
        },
      ],
    }),
    insurance:
      coverages.length > 0
        ? coverages.map(({ id }, index) => ({
            ...{ sequence: index + 1, focal: index === 0, coverage: reference(String(id)) },
          }))
        : [{ sequence: 1, focal: true, coverage: unknown }],
  };
}

/** An element that FHIR requires, and the encounter does not name. */
const unknown: JsonObject = {
  extension: [{ url: 'http://hl7.org/fhir/StructureDefinition/data-absent-reason', valueCode: 'unknown' }],
};

/** The claim that a new one would replace, with the number that the payer gave it. */
function replacedBy(claimId: string, number: string): JsonObject {
  return {
    claim: { identifier: { value: claimId } },
    relationship: coded(`${TERMINOLOGY}/ex-relatedclaimrelationship`, 'prior'),
    reference: { value: number },
  };
}

function reference(id: string): JsonObject {
  return { reference: `#${id}` };
}

function extensionOf({ kind, id, version }: BilledRecord): JsonObject {
  return {
    url: RECORD_EXTENSION,
    extension: [
      { url: 'kind', valueCode: kind },
      { url: 'id', valueString: id },
      { url: 'version', valuePositiveInt: version },
    ],
  };
}

function contain(resourceType: string, id: string, record: BilledRecord, fields: JsonObject): JsonObject {
  return { resourceType, id, extension: [extensionOf(record)], ...fields };
}

function patientOf(patient: BilledRecord): JsonObject {
  const birth = textOf(patient, 'date_of_birth');
  return contain(
    'Patient',
    'patient',
    patient,
    filled({
      identifier: [{ value: patient.id }],
      name: namesOf(patient, 'first_name', 'last_name'),
      gender: textOf(patient, 'gender'),
      birthDate: birth && dayOf(birth),
      address: addressesOf(patient),
    }),
  );
}

function practitionerOf(id: string, provider: BilledRecord): JsonObject {
  const taxonomy = textOf(provider, 'taxonomy_code');
  return contain(
    'Practitioner',
    id,
    provider,
    filled({
      identifier: identifiersOf(provider, { npi: systems.npi, tax_id: systems.ein }),
      name: namesOf(provider, 'first_name', 'last_name'),
      address: addressesOf(provider),
      qualification: taxonomy === undefined ? [] : [{ code: coded(systems.taxonomy, taxonomy) }],
    }),
  );
}

/** The facility as the organization that bills: a claim has no place as its provider (FHIR R4, `Claim.provider`). */
function organizationOf(facility: BilledRecord): JsonObject {
  return contain(
    'Organization',
    'organization',
    facility,
    filled({
      identifier: identifiersOf(facility, { npi: systems.npi, tax_id: systems.ein }),
      name: textOf(facility, 'name'),
      address: addressesOf(facility),
    }),
  );
}

function locationOf(facility: BilledRecord): JsonObject {
  return contain(
    'Location',
    'facility',
    facility,
    filled({
      identifier: identifiersOf(facility, {
        ...{ npi: systems.npi, tax_id: systems.ein, clia_number: systems.clia },
      }),
      name: textOf(facility, 'name'),
      address: addressesOf(facility)[0],
    }),
  );
}

function payerOf(payer: BilledRecord): JsonObject {
  const code = textOf(payer, 'payer_code');
  const type = textOf(payer, 'payer_type');
  return contain(
    'Organization',
    'payer',
    payer,
    filled({
      identifier: code === undefined ? [] : [{ value: code }],
      type: type === undefined ? [] : [{ text: type }],
      name: textOf(payer, 'name'),
      address: addressesOf(payer, 'address_line1', 'address_line2'),
    }),
  );
}

const ranks = ['primary_insurance', 'secondary_insurance', 'tertiary_insurance'] as const;

/** Returns the coverages of a patient in the order of their ranks, and their subscribers. */
function coveragesOf(patient: BilledRecord, payer: BilledRecord | undefined): JsonObject[] {
  return ranks.flatMap((rank) => {
    const payerId = textOf(patient, `${rank}.payer_id`);
    if (payerId === undefined) return [];
    const text = (field: string) => textOf(patient, `${rank}.${field}`);
    const [effective, termination, group] = ['effective_date', 'termination_date', 'group_number'].map(text);
    const relationship = text('subscriber_relationship');
    const id = rank.replace('_', '-');
    const subscriber = relationship === 'self' ? undefined : subscriberOf(patient, rank, `${id}-subscriber`);
    const isHeld = rank === 'primary_insurance' && payer !== undefined;
    return [
      contain(
        'Coverage',
        id,
        patient,
        filled({
          status: 'active',
          subscriberId: text('policy_number'),
          subscriber: subscriber && reference(String(subscriber.id)),
          beneficiary: reference('patient'),
          relationship: relationship && coded(`${TERMINOLOGY}/subscriber-relationship`, relationship),
          period: filled({ start: effective && dayOf(effective), end: termination && dayOf(termination) }),
          payor: [isHeld ? reference('payer') : { identifier: { value: payerId } }],
          class:
            group === undefined
              ? []
              : [{ type: coded(`${TERMINOLOGY}/coverage-class`, 'group'), value: group }],
        }),
      ),
      ...(subscriber ? [subscriber] : []),
    ];
  });
}

/** Returns the subscriber, where it is not the patient and something is known of them. */
function subscriberOf(patient: BilledRecord, rank: string, id: string): JsonObject | undefined {
  const text = (field: string) => textOf(patient, `${rank}.subscriber_${field}`);
  const birth = text('date_of_birth');
  const known = filled({
    name: namesOf(patient, `${rank}.subscriber_first_name`, `${rank}.subscriber_last_name`),
    birthDate: birth && dayOf(birth),
    address: addressList({
      ...{ lines: [text('address_line_1')], city: text('city'), state: text('state') },
      ...{ zipCode: text('zip_code'), country: text('country') },
    }),
  });
  if (Object.keys(known).length === 0) return undefined;
  return contain('RelatedPerson', id, patient, { patient: reference('patient'), ...known });
}

function namesOf(record: BilledRecord, first: string, last: string): JsonObject[] {
  const name = humanName(textOf(record, first), textOf(record, last));
  return Object.keys(name).length > 0 ? [name] : [];
}

function identifiersOf(record: BilledRecord, from: Record<string, string>): JsonObject[] {
  return Object.entries(from).flatMap(([field, system]) => {
    const value = textOf(record, field);
    return value === undefined ? [] : [{ system, value }];
  });
}

function addressesOf(record: BilledRecord, one = 'address_line_1', other = 'address_line_2'): JsonObject[] {
  const text = (field: string) => textOf(record, field);
  return addressList({
    ...{ lines: [text(one), text(other)], city: text('city'), state: text('state') },
    ...{ zipCode: text('zip_code'), country: text('country') },
  });
}
