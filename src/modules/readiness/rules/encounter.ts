import { catalogEntry, isUsedField, usedKinds } from '../../../domain/records/catalog.ts';
import { changedFields } from '../../../domain/records/fold.ts';
import { partsOf, sameVisitOf } from './facts.ts';
import {
  type BilledRecord,
  type BilledVersion,
  type BillingFacts,
  type Fault,
  isVoid,
  type Rule,
  textOf,
  wrong,
} from './rule.ts';

export const changedAfterBilling: Rule = {
  code: 'changed_after_billing',
  severity: 'warns',
  owner: 'billing',
  title: 'What the claim contains has not changed since the encounter was billed',
  source:
    'X12 005010X222A1 (837P), loop 2300, CLM05-3: frequency codes 7 and 8, replacement and void of a prior claim',
  reads: usedKinds.flatMap((kind) =>
    Object.keys(catalogEntry(kind).schema.shape)
      .filter((field) => isUsedField(kind, field))
      .map((field) => `${kind}.${field}`),
  ),
  holdsForVoid: true,
  check(facts) {
    const now = partsOf(facts);
    const { billed: all = [], merged = [] } = facts;
    const presentOf = ({ part, id }: BilledVersion) =>
      part === 'patient' ? [facts.patient, ...merged].find((one) => one?.id === id) : now[part];
    const faults = [...all.flatMap((billed) => faultsOf(billed, presentOf(billed))), ...unmerged(facts)];
    // One provider may have two parts.
    const byField = new Map(
      faults.map((fault) => [`${fault.record.kind}.${fault.field} ${fault.record.id}`, fault]),
    );
    return [...byField.values()];
  },
};

const DIFFERS = 'This has changed since billing: the claim may have to be replaced.';

/** Of a part that another record has now the field tells that names it. */
function faultsOf(billed: BilledVersion, record: BilledRecord | undefined): Fault[] {
  if (record === undefined || record.id !== billed.id || record.version === billed.version) return [];
  return changedFields(billed.fields, record.fields)
    .filter((field) => isUsedField(record.kind, field))
    .map((field) => ({
      ...{ record, field, billedVersion: billed.version },
      text:
        field === 'voided_at' && isVoid(record)
          ? 'The encounter was voided after it was billed: the claim may also have to be voided.'
          : DIFFERS,
    }));
}

/** The claim names a patient into whom the encounter's is no longer merged. */
function unmerged({ billed = [], encounter, patient, merged = [] }: BillingFacts): Fault[] {
  const part = (name: string) => billed.find((one) => one.part === name);
  const [billedPatient, billedEncounter] = [part('patient'), part('encounter')];
  const isNamedAsThen = billedEncounter?.fields?.patient_id === encounter.fields.patient_id;
  const isOfOther = [patient, ...merged].every((one) => one?.id !== billedPatient?.id);
  if (patient === undefined || billedPatient === undefined || !isNamedAsThen || !isOfOther) return [];
  return [{ record: patient, field: 'merged_into', text: DIFFERS }];
}

export const documentMissing: Rule = {
  code: 'document_missing',
  version: 2,
  severity: 'blocks',
  title: 'The encounter has the documents that the workspace requires of its visit type',
  source: 'X12 005010X222A1 (837P), loop 2300, PWK; CMS Medicare Program Integrity Manual, chapter 3',
  reads: ['encounter.visit_type', 'document.category'],
  check({ encounter, documents }, { requiredDocuments }) {
    const required = requiredDocuments.get(textOf(encounter, 'visit_type') ?? '') ?? [];
    const missing = documents === undefined ? [] : required.filter((category) => !documents.has(category));
    if (missing.length === 0) return [];
    const text = `Documents that the visit type requires are missing: ${missing.join(', ')}.`;
    return [{ record: encounter, field: 'documents', text }];
  },
};

const MOST_NAMED = 5;

export const suspectedDuplicate: Rule = {
  code: 'suspected_duplicate',
  severity: 'warns',
  owner: 'billing',
  title: 'No other encounter has the same patient, provider, day of service and facility',
  source: 'CMS Medicare Claims Processing Manual, chapter 1, section 120: exact and suspect duplicate claims',
  reads: ['patient_id', 'provider_id', 'date_of_service', 'facility_id', 'voided_at'].map(
    (field) => `encounter.${field}`,
  ),
  comparesEncounters: true,
  check: ({ encounter, sameVisit = [] }) =>
    sameVisitOf(encounter, sameVisit)
      .slice(0, MOST_NAMED)
      .map((record) => ({
        record,
        field: 'date_of_service',
        text: 'This other encounter has the same patient, provider, day of service and facility: one of the two may be a duplicate.',
      })),
};

export const duplicateOfBilled: Rule = {
  code: 'duplicate_of_billed',
  version: 2,
  severity: 'blocks',
  owner: 'billing',
  title: 'No other encounter with the same patient, provider, day of service and facility was billed',
  source: 'CMS Medicare Claims Processing Manual, chapter 1, section 120: exact and suspect duplicate claims',
  reads: suspectedDuplicate.reads,
  comparesEncounters: true,
  check({ encounter, claim, sameVisit = [], sameVisitBilled }) {
    // What was billed itself is no claim to come.
    if (claim !== undefined || sameVisitBilled === undefined) return [];
    return sameVisitOf(encounter, sameVisit).flatMap((record) => {
      const billed = sameVisitBilled.get(record.id);
      const text =
        'This other encounter has the same patient, provider, day of service and facility, and was billed: the claim would be refused as a duplicate.';
      // The payer has not got what was rejected.
      return billed === undefined || billed.outcome === 'rejected'
        ? []
        : [{ record, field: 'date_of_service', text, claimId: billed.id }];
    });
  },
};

const cancelledVisit: Rule = {
  code: 'cancelled_visit',
  severity: 'blocks',
  title: 'A completed encounter was not cancelled, and the patient came',
  source:
    'CMS Medicare Claims Processing Manual, chapter 1, section 30.3.13: charges for missed appointments',
  reads: ['encounter.status'],
  check: ({ encounter }) =>
    wrong(
      encounter,
      'status',
      (status) => !/^(?:cancell?ed|no[\s_-]?show|entered[\s_-]in[\s_-]error)$/i.test(status.trim()),
      'By its status, the visit did not take place.',
    ),
};

/** Rules about documents, in the order in which a claim is filled in. */
export const documentRules: readonly Rule[] = [documentMissing];

/** Rules about the claim as a whole, in the order in which a claim is filled in. */
export const claimRules: readonly Rule[] = [
  cancelledVisit,
  duplicateOfBilled,
  suspectedDuplicate,
  changedAfterBilling,
];
