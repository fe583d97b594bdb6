import type { Mapping } from '../../mapping.ts';
import type { Origins } from '../../origin.ts';
import type { Period, Reference } from './dataTypes.ts';
import type { Issue } from './issue.ts';

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
export interface MappedDocument {
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
