import { v5 as uuidv5 } from 'uuid';
import { recordStream } from '../../domain/events/streams.ts';
import { addressList, coded, filled, humanName, systems, TERMINOLOGY } from '../../domain/fhirElements.ts';
import type { RecordFields } from '../../domain/records/schema/kind.ts';
import type { RecordView } from '../records/queries/records.ts';
import type { PatientContents } from './contents.ts';

/** A resource of FHIR R4. */
export type Resource = { resourceType: string; id: string } & Record<string, unknown>;

/** The namespace of the ids of resources: callers' ids may have characters that FHIR does not allow. */
const NAMESPACE = '6f4d6e2b-6d0f-5d0e-9a55-0f8a6d8f3b10';

const textOf = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);

/** FHIR requires an offset after a time; records mean UTC where they have none. */
function dateTime(value: unknown): string | undefined {
  const text = textOf(value);
  return text?.includes('T') && !/(?:Z|[+-]\d\d:\d\d)$/.test(text) ? `${text}Z` : text;
}

const dayOf = (value: unknown) => textOf(value)?.slice(0, '2026-03-14'.length);

/**
 * Returns all of a patient as resources of FHIR R4, what `$everything` returns, in one Bundle that needs no server: the references
 * are to other entries, and the attachments to files of the copy. Times are ISO 8601, UTC.
 */
export function everythingBundle(contents: PatientContents, createdAt: string) {
  const { workspace, patient, merged, encounters, documents, referred } = contents;
  const idOf = (kind: string, id: string) => uuidv5(recordStream(workspace, kind, id), NAMESPACE);
  const known = new Set([...referred].flatMap(([kind, views]) => views.map(({ id }) => idOf(kind, id))));
  const reference = (kind: string, id: unknown) => {
    if (typeof id !== 'string') return undefined;
    const target = idOf(kind, id);
    // What was erased since remains only as an id.
    const isIn = kind === 'patient' || kind === 'encounter' || known.has(target);
    return isIn ? { reference: `urn:uuid:${target}` } : { identifier: { value: id } };
  };
  const context = { idOf, reference };
  const patients = [patient, ...merged];
  const resources: Resource[] = [
    ...patients.map((view) => patientResource(view, merged, context)),
    ...patients.flatMap((view) => coverages(view, context)),
    ...encounters.map((view) => encounterResource(view, context)),
    ...documents.map(({ encounterId, view, path }) => {
      const of = encounters.find(({ id }) => id === encounterId)?.record.patient_id;
      return filled({
        resourceType: 'DocumentReference',
        id: uuidv5(`${encounterId}\n${view.document_id}`, idOf('encounter', encounterId)),
        identifier: [{ value: view.document_id }],
        status: 'current',
        type: { text: view.category },
        subject: reference('patient', of),
        date: view.updated_at,
        content: [
          {
            attachment: {
              contentType: view.content_type,
              url: encodeURI(path),
              size: view.size,
              title: view.filename,
            },
          },
        ],
        context: { encounter: [reference('encounter', encounterId)] },
      });
    }),
    ...(referred.get('payer') ?? []).map((view) => payerResource(view, context)),
    ...(referred.get('provider') ?? []).map((view) => providerResource(view, context)),
    ...(referred.get('facility') ?? []).map((view) => facilityResource(view, context)),
  ];
  return {
    resourceType: 'Bundle',
    type: 'collection',
    timestamp: createdAt,
    entry: resources.map((resource) => ({ fullUrl: `urn:uuid:${resource.id}`, resource })),
  };
}

interface Context {
  idOf(kind: string, id: string): string;
  reference(kind: string, id: unknown): object | undefined;
}

function patientResource({ id, record }: RecordView, merged: readonly RecordView[], context: Context) {
  const replaced = merged.filter((one) => one.record.merged_into === id);
  const links = [
    ...replaced.map((one) => ({ type: 'replaces', other: context.reference('patient', one.id) })),
    ...(record.merged_into === undefined || record.merged_into === null
      ? []
      : [{ type: 'replaced-by', other: context.reference('patient', record.merged_into) }]),
  ];
  return filled({
    resourceType: 'Patient',
    id: context.idOf('patient', id),
    identifier: [{ value: id }],
    name: [nameOf(record.first_name, record.last_name)],
    telecom: contacts(record),
    gender: record.gender,
    birthDate: dayOf(record.date_of_birth),
    address: addresses(record),
    link: links,
  });
}

const nameOf = (first: unknown, last: unknown) => humanName(textOf(first), textOf(last));

function contacts({ phone, email, fax }: RecordFields) {
  const points = { phone, email, fax };
  return Object.entries(points).flatMap(([system, value]) =>
    textOf(value) === undefined ? [] : [{ system, value }],
  );
}

/** Returns the address of a record, if it has one; payers name its lines differently. */
function addresses(record: RecordFields): object[] {
  const lines = [
    record.address_line_1 ?? record.address_line1,
    record.address_line_2 ?? record.address_line2,
  ].map(textOf);
  const [city, state, zipCode, country] = [record.city, record.state, record.zip_code, record.country].map(
    textOf,
  );
  return addressList({ lines, city, state, zipCode, country });
}

const ranks = ['primary_insurance', 'secondary_insurance', 'tertiary_insurance'] as const;

function coverages({ id, record }: RecordView, { idOf, reference }: Context): Resource[] {
  return ranks.flatMap((rank, at) => {
    const insurance = record[rank] as Record<string, unknown> | null | undefined;
    if (!insurance) return [];
    const group = textOf(insurance.group_number);
    const policy = textOf(insurance.policy_number);
    const relationship = textOf(insurance.subscriber_relationship);
    const subscriber = nameOf(insurance.subscriber_first_name, insurance.subscriber_last_name);
    const own = uuidv5(rank, idOf('patient', id));
    const isNamed = Object.keys(subscriber).length > 0;
    return [
      filled({
        resourceType: 'Coverage',
        id: own,
        contained: isNamed
          ? [
              {
                resourceType: 'RelatedPerson',
                id: 'subscriber',
                ...relatedPerson(insurance, subscriber, reference('patient', id)),
              },
            ]
          : [],
        identifier: policy === undefined ? [] : [memberNumber(policy)],
        status: 'active',
        subscriber: isNamed ? { reference: '#subscriber' } : undefined,
        subscriberId: textOf(insurance.subscriber_id),
        beneficiary: reference('patient', id),
        relationship:
          relationship === undefined
            ? undefined
            : coded(`${TERMINOLOGY}/subscriber-relationship`, relationship),
        period: filled({
          start: dateTime(insurance.effective_date),
          end: dateTime(insurance.termination_date),
        }),
        payor: [reference('payer', insurance.payer_id)],
        class:
          group === undefined
            ? []
            : [
                {
                  type: coded(`${TERMINOLOGY}/coverage-class`, 'group'),
                  value: group,
                },
              ],
        order: at + 1,
      }),
    ];
  });
}

function memberNumber(value: string) {
  return { type: coded(`${TERMINOLOGY}/v2-0203`, 'MB'), value };
}

function relatedPerson(insurance: Record<string, unknown>, name: object, patient: object | undefined) {
  const prefix = 'subscriber_';
  const own = Object.entries(insurance).filter(([field]) => field.startsWith(prefix));
  const fields = Object.fromEntries(own.map(([field, value]) => [field.slice(prefix.length), value]));
  return filled({
    patient,
    name: [name],
    birthDate: dayOf(fields.date_of_birth),
    address: addresses(fields as RecordFields),
  });
}

/** By type of visit, as v3-ActCode has it. */
const classes: Record<string, string> = {
  inpatient: 'IMP',
  emergency: 'EMER',
  observation: 'OBSENC',
  telehealth: 'VR',
};

function encounterResource({ id, record }: RecordView, { idOf, reference }: Context): Resource {
  const isFinished = record.is_completed === true;
  const status = record.voided_at ? 'entered-in-error' : isFinished ? 'finished' : 'unknown';
  const rendering = record.rendering_provider_id;
  const people = [
    { code: 'ATND', provider: record.provider_id },
    { code: 'PPRF', provider: rendering },
  ].filter(({ provider }) => typeof provider === 'string');
  return filled({
    resourceType: 'Encounter',
    id: idOf('encounter', id),
    identifier: [{ value: id }],
    status,
    class: { system: `${TERMINOLOGY}/v3-ActCode`, code: classes[String(record.visit_type)] ?? 'AMB' },
    type: textOf(record.visit_type) === undefined ? [] : [{ text: record.visit_type }],
    subject: reference('patient', record.patient_id),
    participant: people.map(({ code, provider }) => ({
      type: [coded(`${TERMINOLOGY}/v3-ParticipationType`, code)],
      individual: reference('provider', provider),
    })),
    period: filled({ start: dateTime(record.date_of_service) }),
    location:
      typeof record.facility_id === 'string' ? [{ location: reference('facility', record.facility_id) }] : [],
  });
}

function payerResource({ id, record }: RecordView, { idOf }: Context): Resource {
  const { name, payer_code, payer_type, contact_email, contact_phone, fax } = record;
  const code = textOf(payer_code);
  return filled({
    resourceType: 'Organization',
    id: idOf('payer', id),
    identifier: [{ value: id }, ...(code === undefined ? [] : [{ value: code }])],
    type: textOf(payer_type) === undefined ? [] : [{ text: payer_type }],
    name,
    telecom: contacts({ phone: contact_phone, email: contact_email, fax } as unknown as RecordFields),
    address: addresses(record),
  });
}

function npiOf({ npi }: RecordFields) {
  return textOf(npi) === undefined ? [] : [{ system: systems.npi, value: npi }];
}

function providerResource({ id, record }: RecordView, { idOf }: Context): Resource {
  const { taxonomy_code, specialty } = record;
  const taxonomy = textOf(taxonomy_code);
  const code = filled({
    ...(taxonomy !== undefined && coded(systems.taxonomy, taxonomy)),
    text: textOf(specialty),
  });
  return filled({
    resourceType: 'Practitioner',
    id: idOf('provider', id),
    identifier: [{ value: id }, ...npiOf(record)],
    name: [nameOf(record.first_name, record.last_name)],
    telecom: contacts(record),
    address: addresses(record),
    qualification: Object.keys(code).length === 0 ? [] : [{ code }],
  });
}

function facilityResource({ id, record }: RecordView, { idOf }: Context): Resource {
  return filled({
    resourceType: 'Location',
    id: idOf('facility', id),
    identifier: [{ value: id }, ...npiOf(record)],
    name: record.name,
    type: textOf(record.facility_type) === undefined ? [] : [{ text: record.facility_type }],
    telecom: contacts(record),
    // A Location has one.
    address: addresses(record)[0],
  });
}
