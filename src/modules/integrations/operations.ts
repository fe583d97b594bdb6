import { encounter } from '../../domain/records/kinds/encounter.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import type { RecordFields } from '../../domain/records/schema/kind.ts';
import type { FieldMessage } from '../../platform/errors.ts';
import type { MessageBody } from './messages/message.ts';

/** What a message says about one record: fields as for an upsert, including its id. */
export interface RecordOperation {
  type: 'record';
  kind: string;
  fields: RecordFields;
  /** Where the message says it: `PID`, `Bundle.entry[3].resource`. */
  at: string;
  /** Where its fields come from; always set for a message that is read again. */
  origins?: Origins;
  /**
   * Only a record that does not exist is written: what is mentioned in passing must not replace what somebody sent.
   */
  ifAbsent?: boolean;
  /**
   * Messages come out of order:
   * - `present`: it is left out unless its record exists;
   * - `planned`: it is left out where the encounter has begun and is not void: plans do not replace what took place;
   * - `begun`: the encounter stays completed if it is, and not void, unless it now begins at another time.
   */
  given?: 'present' | 'planned' | 'begun';
  /** Names of fields that apply only where the record has none: those that the source says, and the message does not. */
  ifUnset?: readonly string[];
  /** It is based on this version of the record, and is refused where there is another one by then. */
  version?: number;
}

/** A document of an encounter. */
export interface DocumentOperation {
  type: 'document';
  encounterId: string;
  documentId: string;
  category: string;
  fileName: string;
  bytes: Buffer;
  at: string;
  origins?: Origins;
}

/** A document of an encounter is withdrawn. */
export interface RemovalOperation {
  type: 'removal';
  encounterId: string;
  documentId: string;
  at: string;
  origins?: Origins;
}

/** A record was merged into another one, the survivor, as both are of the same person, or the same visit. */
export interface MergeOperation {
  type: 'merge';
  kind: 'patient' | 'encounter';
  id: string;
  into: string;
  /** What the record that ends has from then on. */
  fields: Record<string, unknown>;
  /** `present`: it is left out where there is no such record. */
  given?: 'present';
  at: string;
  origins?: Origins;
}

/** All encounters of a patient are void. */
export interface VoidAllOperation {
  type: 'voidAll';
  patientId: string;
  fields: Record<string, unknown>;
  at: string;
  origins?: Origins;
}

export type Operation =
  | RecordOperation
  | DocumentOperation
  | RemovalOperation
  | MergeOperation
  | VoidAllOperation;

/** Where a field of a record comes from. */
export interface Origin {
  /**
   * Where the message says it: `PID^1^5^1^1` (HL7 v2, in the form of ERR-2), `Patient.name[0].family` (FHIRPath).
   * Undefined where it has no place, as with a record named by a setting.
   */
  at?: string;
  /** The source's setting that determined it, where one did: `facility`, `mapping.visit_types`. */
  setting?: string;
  /** Name of the rule by which it was read, for FHIR; for HL7 v2 the field determines it. */
  rule?: string;
}

/** By the field of a record, dotted inside an insurance. */
export type Origins = Record<string, Origin>;

/** The result of an operation. */
export type OperationResult =
  | { outcome: 'created' | 'updated' | 'unchanged'; version: number; warnings: FieldMessage[] }
  /** The record that it would have created exists, or what it is about does not. */
  | { outcome: 'left_out' }
  | { error: unknown };

/** A record that a message concerns, and the result for it. */
export type About = MessageBody['about'][number];
/** A record that a message concerns. */
export type AboutRecord = Pick<About, 'kind' | 'id'>;

/** Returns the record of an operation; for a document, its encounter. */
export function recordOf(operation: Operation): AboutRecord {
  switch (operation.type) {
    case 'record':
      return { kind: operation.kind, id: operation.fields.id };
    case 'merge':
      return { kind: operation.kind, id: operation.id };
    case 'voidAll':
      return { kind: patient.kind, id: operation.patientId };
    default:
      return { kind: encounter.kind, id: operation.encounterId };
  }
}

/**
 * Returns what an operation says in the present state of its record, undefined where there is none: undefined where it
 * is left out.
 */
export function saidOf(
  operation: RecordOperation,
  present: RecordFields | undefined,
): RecordOperation | undefined {
  const { fields, given } = operation;
  if (given === 'present' && present === undefined) return undefined;
  if (present === undefined) return operation;
  const kept = (operation.ifUnset ?? []).filter((name) => present[name] != null);
  if (kept.length > 0) {
    const said = Object.entries(fields).filter(([name]) => !kept.includes(name));
    const { ifUnset: _, ...rest } = operation;
    return saidOf({ ...rest, fields: Object.fromEntries(said) as RecordFields }, present);
  }
  if (present.voided_at != null) return operation;
  if (given === 'planned' && (present.is_completed === true || BEGUN.has(String(present.status))))
    return undefined;
  const isLate = given === 'begun' && present.is_completed === true && !isOtherTime(fields, present);
  if (!isLate) return operation;
  const { status: _, is_completed: __, ...late } = fields;
  return { ...operation, fields: late as RecordFields };
}

/** Statuses of visits that take place, or took place. */
const BEGUN = new Set(['in-progress', 'finished']);

function isOtherTime(
  { date_of_service: one }: RecordFields,
  { date_of_service: other }: RecordFields,
): boolean {
  const [first, second] = [String(one ?? ''), String(other ?? '')];
  // A day without a time is the same as any time of it.
  if (first.startsWith(second) || second.startsWith(first)) return false;
  return Date.parse(first) !== Date.parse(second);
}
