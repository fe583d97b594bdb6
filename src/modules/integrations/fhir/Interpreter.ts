import type { RecordFields } from '../../../domain/records/catalog.ts';
import { WorkSlices } from '../../records/commands/WorkSlices.ts';
import type { Operation, RecordOperation } from '../operation.ts';
import type { Origins } from '../origin.ts';
import { addressIssues } from './addressIssues.ts';
import type { FhirEntry } from './FhirEntry.ts';
import type { FhirRecords } from './FhirRecords.ts';
import { InsuranceBook } from './InsuranceBook.ts';
import { type Identity, identify } from './identify.ts';
import { MessageIndex } from './MessageIndex.ts';
import { MessageOperations } from './MessageOperations.ts';
import { patientsNamedIn } from './patientsNamedIn.ts';
import { ReferenceResolver } from './ReferenceResolver.ts';
import { referredResource } from './referredResource.ts';
import type { Reference } from './resources/dataTypes.ts';
import { type Issue, refused, remarked } from './resources/issue.ts';
import type { FieldReference, Mapped, MappedCoverage, MappingContext } from './resources/mapped.ts';
import { mapResource, typeOf } from './resources/mapResource.ts';
import { referredBy } from './resources/references.ts';

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
  readonly #insurances: InsuranceBook;
  readonly #operations = new MessageOperations();
  readonly #slices = new WorkSlices();

  constructor(records: FhirRecords, context: MappingContext) {
    this.#records = records;
    this.#context = context;
    this.#resolver = new ReferenceResolver(this.#index, records, context);
    this.#insurances = new InsuranceBook(this.#index, context.at);
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
      if (id !== into) this.#operations.add({ type: 'merge', id, into, at: one.entry.at });
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
  async #insure({ patientId, told, entries }: ReturnType<InsuranceBook['patients']>[number]): Promise<void> {
    const [first] = entries;
    if (first === undefined) return;
    const current = await this.#records.current('patient', patientId);
    const { fields, also, left, ranks = [] } = told(current?.fields);
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
