import type { RecordFields } from '../../domain/records/catalog.ts';
import type { Origins } from './origin.ts';

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

/** A patient was merged into another one, the survivor, as both are the same person. */
export interface MergeOperation {
  type: 'merge';
  id: string;
  into: string;
  at: string;
  origins?: Origins;
}

export type Operation = RecordOperation | DocumentOperation | MergeOperation;
