import { isJsonObject } from '../../../domain/events/event.ts';
import type { RecordFields } from '../../../domain/records/schema/kind.ts';
import { TimeSlicer } from '../../records/commands/batchOrder.ts';
import type { MergeOperation, Operation, Origins, RecordOperation } from '../operations.ts';
import {
  addressIssues,
  type FhirEntry,
  type Identity,
  identify,
  MessageIndex,
  MessageOperations,
  personSchema,
} from './bundle.ts';
import { type FhirRecords, ReferenceResolver, type Resolved, referredResource } from './references.ts';
import {
  addressFields,
  chooseAddress,
  chooseName,
  endOf,
  type Reference,
  referenceSchema,
  referredBy,
  startOf,
} from './resources/elements.ts';
import { mapResource, typeOf } from './resources/index.ts';
import {
  type FieldReference,
  type Issue,
  type Mapped,
  type MappedCoverage,
  type MappingContext,
  refused,
  remarked,
} from './resources/issues.ts';

/** Returns the merge of a patient into another one. */
function mergeOfPatients(id: string, into: string, at: string): MergeOperation {
  return { type: 'merge', kind: 'patient', id, into, fields: { merged_into: into }, at };
}

/** The fields of a patient that hold insurances, in order. */
const insuranceRanks = ['primary_insurance', 'secondary_insurance', 'tertiary_insurance'] as const;

/** An insurance that a message reports. */
interface SourcedInsurance {
  fields: Record<string, unknown>;
  isActive: boolean;
  /** Whether its period has not ended. */
  isInForce: boolean;
  order: number | undefined;
}

interface Ranked {
  fields: unknown;
  isInForce: boolean;
  order: number;
}

/**
 * Returns the insurances of a patient, by the fields to be written: those that the patient has, with those that a
 * message reports replacing the same ones (payer and policy number). An `order` only says which of two comes first
 * (FHIR R4, 13.1.5), so those in force take the ranks from the first on, without gaps; expired ones are kept only
 * where nothing is in force. `left`: how many found no rank.
 */
function rankInsurances(
  patient: RecordFields | undefined,
  incoming: readonly SourcedInsurance[],
): { fields: Record<string, unknown>; left: number } {
  const had = insuranceRanks.map((rank) => patient?.[rank]);
  const kept: Ranked[] = had.flatMap((fields, index) =>
    fields == null || incoming.some((one) => isSame(one.fields, fields))
      ? []
      : [{ fields, isInForce: true, order: index + 1 }],
  );
  const active = incoming.filter(({ isActive }) => isActive);
  const added = active.map(({ fields, isInForce, order }): Ranked => {
    const before = had.findIndex((one) => one != null && isSame(fields, one));
    return { fields, isInForce, order: order ?? (before < 0 ? Infinity : before + 1) };
  });
  const all = [...added, ...kept].toSorted((a, b) => a.order - b.order || 0);
  const inForce = all.filter((one) => one.isInForce);
  const ranked = inForce.length > 0 ? inForce : all.slice(-1);
  const fields = Object.fromEntries(
    insuranceRanks.flatMap((rank, index) => {
      const now = ranked[index]?.fields ?? null;
      return now === null && had[index] == null ? [] : [[rank, now]];
    }),
  );
  return { fields, left: Math.max(0, ranked.length - insuranceRanks.length) };
}

function isSame(one: Record<string, unknown>, other: unknown): boolean {
  const { payer_id, policy_number } = (other ?? {}) as Record<string, unknown>;
  return one.payer_id === payer_id && (one.policy_number ?? null) === (policy_number ?? null);
}

/** Returns what the message says about the subscriber named by a coverage; nothing where it does not mention them. */
function subscriberFields(
  reference: Reference | undefined,
  owner: unknown,
  index: MessageIndex,
  at: number,
): Record<string, unknown> {
  const person = personSchema.safeParse(reference && referredResource(reference, owner, index));
  if (!person.success) return {};
  const { name, birthDate, address } = person.data;
  const chosen = chooseName(name, at);
  const { address_line_1, city, state, zip_code, country } = addressFields(chooseAddress(address, at));
  return {
    ...(chosen?.given?.[0] && { subscriber_first_name: chosen.given[0] }),
    ...(chosen?.family && { subscriber_last_name: chosen.family }),
    ...(birthDate && { subscriber_date_of_birth: birthDate }),
    ...(address_line_1 && { subscriber_address_line_1: address_line_1 }),
    ...(city && { subscriber_city: city }),
    ...(state && { subscriber_state: state }),
    ...(zip_code && { subscriber_zip_code: zip_code }),
    ...(country && { subscriber_country: country }),
  };
}

interface InsuranceEntry {
  one: InterpretedEntry;
  payer: Extract<Resolved, { id: string }>;
  mapped: MappedCoverage;
}

/** What a patient's insurances amount to. */
interface InsuredPatient {
  patientId: string;
  entries: InterpretedEntry[];
  /**
   * Returns the fields to write, given the patient's present state; undefined for none. `also`: the payers that are
   * created for them.
   */
  fieldsFor(patient: RecordFields | undefined): {
    fields: Record<string, unknown> | undefined;
    also: RecordOperation[];
    left: number;
    /** The entries that become insurances, by the field in which these are stored. */
    ranks?: [rank: string, entry: InterpretedEntry][];
  };
}

/** Gathers what a message says about insurances, by patient. */
class CoverageIndex {
  readonly #index: MessageIndex;
  readonly #at: number;
  readonly #byPatient = new Map<string, InsuranceEntry[]>();

  constructor(index: MessageIndex, at: number) {
    this.#index = index;
    this.#at = at;
  }

  note(
    one: InterpretedEntry,
    patientId: string,
    payer: InsuranceEntry['payer'],
    mapped: MappedCoverage,
  ): void {
    const noted = this.#byPatient.get(patientId) ?? [];
    noted.push({ one, payer, mapped });
    this.#byPatient.set(patientId, noted);
  }

  patients(): InsuredPatient[] {
    return [...this.#byPatient].map(([patientId, noted]) => {
      const sent = noted.filter(({ mapped }) => !mapped.isHearsay);
      const taken = sent.length > 0 ? sent : lastOf(noted);
      return {
        patientId,
        entries: noted.map(({ one }) => one),
        fieldsFor: (patient) => this.#fieldsFor(taken, patient),
      };
    });
  }

  #fieldsFor(
    taken: readonly InsuranceEntry[],
    patient: RecordFields | undefined,
  ): ReturnType<InsuredPatient['fieldsFor']> {
    const isInsured = insuranceRanks.some((rank) => patient?.[rank] != null);
    // What is mentioned in passing does not replace what somebody sent.
    if (taken.some(({ mapped }) => mapped.isHearsay) && isInsured) {
      return { fields: undefined, also: [], left: 0 };
    }
    const incoming = taken.map((one) => this.#sourced(one));
    const also = taken.flatMap(({ payer, mapped }) => (payer.also && mapped.isActive ? [payer.also] : []));
    const ranked = rankInsurances(patient, incoming);
    const ranks = insuranceRanks.flatMap((rank): [string, InterpretedEntry][] => {
      const place = incoming.findIndex(({ fields }) => fields === ranked.fields[rank]);
      return place < 0 ? [] : [[rank, (taken[place] as InsuranceEntry).one]];
    });
    return { ...ranked, also, ranks };
  }

  #sourced({ one, payer, mapped }: InsuranceEntry): SourcedInsurance {
    const { fields, subscriber, period, isActive, isHearsay, order } = mapped;
    const isSelf = fields.subscriber_relationship === 'self';
    const of = isSelf ? {} : subscriberFields(subscriber, one.entry.resource, this.#index, this.#at);
    const isInForce = isHearsay || period?.end === undefined || endOf(period.end) >= this.#at;
    return { fields: { payer_id: payer.id, ...fields, ...of }, isActive, isInForce, order };
  }
}

/** Returns the one that began last. */
function lastOf(noted: readonly InsuranceEntry[]): InsuranceEntry[] {
  const begins = ({ mapped }: InsuranceEntry) =>
    mapped.period?.start ? startOf(mapped.period.start) : -Infinity;
  const [first, ...rest] = noted;
  if (first === undefined) return [];
  return [rest.reduce((last, one) => (begins(one) >= begins(last) ? one : last), first)];
}

/** The elements in which resources of any type name patients (FHIR R4, 8.1.14). */
const elements = ['subject', 'patient', 'beneficiary', 'subscriber'];

/**
 * Resolves with the ids of the patients whom a resource names, whether or not anything else in it can be used. Rejects
 * with `unavailable`.
 */
async function patientsNamedIn(resource: unknown, resolver: ReferenceResolver): Promise<string[]> {
  if (!isJsonObject(resource)) return [];
  const ids: string[] = [];
  for (const element of elements) {
    const { data: reference } = referenceSchema.safeParse(resource[element]);
    if (reference === undefined) continue;
    const named = await resolver.resolve(reference, 'patient', element, resource);
    if ('id' in named) ids.push(named.id);
  }
  return ids;
}

/** The interpretation of an entry of a message. */
export interface InterpretedEntry {
  entry: FhirEntry;
  identity: Identity;
  /** The ids of the patients whom it names, also where it is refused. */
  patients: string[];
  issues: Issue[];
  /** The main thing to be written for it; undefined where it is refused, or nothing of it is used. */
  operation?: Operation;
  /** The insurance of its patient that it becomes. */
  rank?: string;
  /** The origins of fields that come from an element other than the usual one. */
  origins?: Origins;
}

/** The interpretation of a message. */
export interface Interpreted {
  entries: InterpretedEntry[];
  /** Of all entries, each once, including what they mention in passing. */
  operations: Operation[];
}

/**
 * Interprets a message of resources: each resource, in whatever order they come, in the light of the others and of
 * the existing records.
 */
export class Interpreter {
  readonly #records: FhirRecords;
  readonly #context: MappingContext;
  readonly #index = new MessageIndex();
  readonly #resolver: ReferenceResolver;
  readonly #insurances: CoverageIndex;
  readonly #operations = new MessageOperations();
  readonly #slices = new TimeSlicer();

  constructor(records: FhirRecords, context: MappingContext) {
    this.#records = records;
    this.#context = context;
    this.#resolver = new ReferenceResolver(this.#index, records, context);
    this.#insurances = new CoverageIndex(this.#index, context.at);
  }

  /** Interprets one message. Rejects with `unavailable`. */
  async interpret(entries: readonly FhirEntry[]): Promise<Interpreted> {
    const context = this.#context;
    const read: Pick<InterpretedEntry, 'entry' | 'identity'>[] = [];
    for (const entry of entries) {
      if (this.#slices.isOver) await this.#slices.next();
      const identity = identify(entry, context);
      this.#index.add(entry, identity);
      read.push({ entry, identity });
    }
    const interpreted: InterpretedEntry[] = [];
    const partial: { one: InterpretedEntry; mapped: Mapped }[] = [];
    for (const { entry, identity } of read) {
      if (this.#slices.isOver) await this.#slices.next();
      const attempt = mapResource(entry.resource, context, identity.recordId);
      const patients = await patientsNamedIn(entry.resource, this.#resolver);
      const one: InterpretedEntry = { entry, identity, patients, issues: [] };
      interpreted.push(one);
      if ('issues' in attempt) one.issues.push(...attempt.issues);
      else {
        one.issues.push(...attempt.mapped.issues, ...addressIssues(entry, identity));
        if (isRefused(one)) continue;
        if (attempt.mapped.of === 'role' || attempt.mapped.of === 'coverage') {
          partial.push({ one, mapped: attempt.mapped });
        } else await this.#write(one, attempt.mapped);
      }
    }
    // What belongs to the record of another resource, once all of these are known.
    for (const { one, mapped } of partial) {
      if (this.#slices.isOver) await this.#slices.next();
      await this.#addTo(one, mapped);
    }
    for (const insured of this.#insurances.patients()) {
      if (this.#slices.isOver) await this.#slices.next();
      await this.#insure(insured);
    }
    return { entries: interpreted, operations: this.#operations.all };
  }

  async #write(one: InterpretedEntry, mapped: Mapped): Promise<void> {
    if (mapped.of === 'nothing') return;
    const { entry, identity } = one;
    const id = identity.recordId;
    if (id === undefined) {
      one.issues.push(
        refused('required', `${identity.type}.id`, 'Send an id, or the identifier that is used as its id.'),
      );
      return;
    }
    if (mapped.of === 'document') {
      const encounterId = await this.#named(
        one,
        mapped.encounter,
        'encounter',
        'DocumentReference.context.encounter',
      );
      if (encounterId === undefined) return;
      const { category, fileName, bytes, origins } = mapped;
      if (origins) one.origins = origins;
      this.#add(one, {
        type: 'document',
        documentId: id,
        encounterId,
        category,
        fileName,
        bytes,
        at: entry.at,
      });
    } else if (mapped.of === 'record') {
      const { kind } = mapped;
      one.origins = { ...mapped.origins };
      const named = await this.#fieldsNamed(one, mapped.references);
      if (isRefused(one)) return;
      const fields = { ...mapped.fields, ...named, id };
      const { ifAbsent, ifMatch: version } = entry;
      const options = { ...(ifAbsent && { ifAbsent }), ...(version !== undefined && { version }) };
      this.#add(one, { type: 'record', kind, fields, at: entry.at, ...options });
      for (const reference of mapped.merged ?? []) await this.#merge(one, id, reference);
    }
  }

  /** Notes that the patient named by a reference was merged into that of an entry. */
  async #merge(one: InterpretedEntry, into: string, reference: FieldReference): Promise<void> {
    const resolved = await this.#resolve(one, reference);
    if ('id' in resolved) {
      const { id } = resolved;
      if (id !== into) this.#operations.add(mergeOfPatients(id, into, one.entry.at));
      return;
    }
    const { expression, diagnostics } = resolved.issue;
    one.issues.push(remarked('informational', expression, `It is ignored. ${diagnostics}`));
  }

  async #addTo(one: InterpretedEntry, mapped: Mapped): Promise<void> {
    if (mapped.of === 'coverage') await this.#noteCoverage(one, mapped);
    if (mapped.of !== 'role') return;
    const expression = 'PractitionerRole.practitioner';
    const id = await this.#named(one, mapped.practitioner, 'provider', expression);
    if (id === undefined) return;
    await this.#complete(one, 'provider', id, () => mapped.fields, expression);
  }

  async #noteCoverage(one: InterpretedEntry, mapped: MappedCoverage): Promise<void> {
    const patientId = await this.#named(one, mapped.patient, 'patient', 'Coverage.beneficiary');
    const { resource } = one.entry;
    const payor = mapped.payors.find((reference) => !this.#isPerson(reference, resource));
    if (payor === undefined) {
      const text = 'The payor is a person, so this is not an insurance and is ignored.';
      one.issues.push(remarked('informational', 'Coverage.payor', text));
      return;
    }
    const payer = await this.#resolver.resolve(payor, 'payer', 'Coverage.payor', resource);
    if ('issue' in payer) one.issues.push(payer.issue);
    else if (patientId !== undefined) this.#insurances.note(one, patientId, payer, mapped);
    if (mapped.origins) one.origins = mapped.origins;
  }

  /** Whether a payor is the patient, or somebody related to them (FHIR R4, 13.1.4). */
  #isPerson(reference: Reference, owner: unknown): boolean {
    const referred = referredBy(reference);
    const named = referred && 'type' in referred ? referred.type : undefined;
    const type = typeOf(referredResource(reference, owner, this.#index)) ?? named ?? reference.type;
    return type === 'Patient' || type === 'RelatedPerson';
  }

  /** Writes the insurances of a patient for whom the message has some. */
  async #insure({
    patientId,
    fieldsFor,
    entries,
  }: ReturnType<CoverageIndex['patients']>[number]): Promise<void> {
    const [first] = entries;
    if (first === undefined) return;
    const current = await this.#records.current('patient', patientId);
    const { fields, also, left, ranks = [] } = fieldsFor(current?.fields);
    if (fields === undefined) return;
    for (const [rank, one] of ranks) one.rank = rank;
    if (left > 0) {
      const text = 'A patient can have at most three insurances; the last ones are ignored.';
      for (const { issues } of entries) issues.push(remarked('informational', 'Coverage', text));
    }
    for (const payer of also) this.#operations.addMade(payer);
    await this.#complete(first, 'patient', patientId, () => fields, 'Coverage.beneficiary', current);
    for (const one of entries) {
      if (first.operation) one.operation ??= first.operation;
      else if (one !== first) one.issues.push(...first.issues.filter(({ severity }) => severity === 'error'));
    }
  }

  /**
   * Adds fields to what is written to a record; where the message has nothing else for it, along with what the record
   * already has and needs.
   */
  async #complete(
    one: InterpretedEntry,
    kind: string,
    id: string,
    added: () => Record<string, unknown>,
    expression: string,
    known?: { version: number; fields: RecordFields },
  ): Promise<void> {
    const own = this.#operations.lastOf(kind, id);
    const isLeftOut = own?.ifAbsent && (known ?? (await this.#records.current(kind, id))) !== undefined;
    if (own && !isLeftOut) {
      Object.assign(own.fields, added());
      one.operation = own;
      return;
    }
    const current = known ?? (await this.#records.current(kind, id));
    if (current === undefined) {
      one.issues.push(
        refused('not-found', expression, `No ${kind} has this id. Send it first, or in the same bundle.`),
      );
      return;
    }
    const { version, fields } = current;
    const needed = { first_name: fields.first_name, last_name: fields.last_name };
    const born = kind === 'patient' && { date_of_birth: fields.date_of_birth };
    const whole: RecordFields = { ...needed, ...born, ...added(), id };
    this.#add(one, { type: 'record', kind, fields: whole, version, at: one.entry.at });
  }

  async #fieldsNamed(
    one: InterpretedEntry,
    references: readonly FieldReference[],
  ): Promise<Record<string, string>> {
    const named: Record<string, string> = {};
    const made: RecordOperation[] = [];
    for (const { otherwise, ...reference } of references) {
      const first = await this.#resolve(one, reference);
      const resolved = 'issue' in first && otherwise ? await this.#resolve(one, otherwise) : first;
      if ('issue' in resolved) one.issues.push(resolved.issue);
      else {
        named[reference.field] = resolved.id;
        const { expression } = resolved === first ? reference : (otherwise ?? reference);
        one.origins = { ...one.origins, [reference.field]: { at: expression } };
        if (resolved.also) made.push(resolved.also);
      }
    }
    if (!isRefused(one)) for (const record of made) this.#operations.addMade(record);
    return named;
  }

  /** Resolves with the id of a record that an entry requires; notes an issue where there is none. */
  async #named(
    one: InterpretedEntry,
    reference: FieldReference['reference'] | undefined,
    kind: string,
    expression: string,
  ): Promise<string | undefined> {
    if (reference === undefined) return undefined;
    const resolved = await this.#resolve(one, { field: '', kind, reference, expression });
    if ('id' in resolved) return resolved.id;
    one.issues.push(resolved.issue);
    return undefined;
  }

  #resolve({ entry }: InterpretedEntry, { reference, kind, expression }: FieldReference) {
    return this.#resolver.resolve(reference, kind, expression, entry.resource);
  }

  #add(one: InterpretedEntry, operation: Operation): void {
    this.#operations.add(operation);
    one.operation = operation;
  }
}

/** Whether nothing of an entry may be written. */
export function isRefused({ issues }: Pick<InterpretedEntry, 'issues'>): boolean {
  return issues.some(({ severity }) => severity === 'error');
}
