import type { RecordFields } from '../../../domain/records/catalog.ts';

/** The records of the workspace, as far as reading a message requires them. Its methods reject with `unavailable`. */
export interface FhirRecords {
  /** Resolves with a record's present state; undefined where there is none. */
  current(kind: string, id: string): Promise<{ version: number; fields: RecordFields } | undefined>;
  /**
   * Resolves with the ids of the records of a kind in which a field that holds an identifying number, such as an NPI,
   * has this value.
   */
  havingNumber(kind: string, field: string, value: string): Promise<string[]>;
}
