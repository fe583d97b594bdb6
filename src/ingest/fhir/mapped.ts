import type { Origins } from '../origin.ts';
import type { Mapping } from '../sources/mapping.ts';
import type { Period, Reference } from './elements/dataTypes.ts';
import type { Issue } from './issue.ts';

/** A field of a record that names another record, before it is known which. */
export interface FieldReference {
  field: string;
  /** Kind of the record that it names. */
  kind: string;
  reference: Reference;
  /** FHIRPath of the element. */
  expression: string;
  /** Named instead where nothing is found. */
  otherwise?: FieldReference | undefined;
}

/** What a resource says of a record: what it does not say stays as it is there. */
export interface MappedRecord {
  of: 'record';
  kind: string;
  fields: Record<string, unknown>;
  references: FieldReference[];
  /** Of a patient, those who were merged into that one. */
  merged?: FieldReference[];
  /** Of fields that come from another element than is usual. */
  origins?: Origins | undefined;
  issues: Issue[];
}

/** What a resource without a record of its own says of a provider. */
export interface MappedRole extends Omit<MappedRecord, 'of'> {
  of: 'role';
  /** Whose role it is. */
  practitioner: Reference | undefined;
}

/** What a resource says of an insurance of a patient; its rank depends on what else the patient has. */
export interface MappedCoverage {
  of: 'coverage';
  fields: Record<string, unknown>;
  patient: Reference | undefined;
  /** Who pays, the first of whom that is no person counts. */
  payors: readonly Reference[];
  subscriber: Reference | undefined;
  period: Period | undefined;
  /** Only one that is active counts. */
  isActive: boolean;
  /** Which of those in force comes first: it names no rank, and may have gaps. */
  order: number | undefined;
  /** Taken only where the message has no other of the patient. */
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

/** What is known of, and not taken. */
export interface NothingMapped {
  of: 'nothing';
  issues: Issue[];
}

export type Mapped = MappedRecord | MappedRole | MappedCoverage | MappedDocument | NothingMapped;

/** How a resource is understood. */
export interface MappingContext {
  /** The moment at which periods are in force or not, in milliseconds since 1970. */
  at: number;
  /** By the type of a resource, the system of the identifier that is the record's id. */
  idSystems: Partial<Record<string, string>>;
  /** What the source has of its own in place of the usual rules. */
  mapping: Mapping;
}
