import type { RecordFields } from '../../../records/catalog.ts';

/** The records of the workspace, as far as the reading of a message asks for them. Its methods reject with `unavailable`. */
export interface FhirRecords {
  /** A record as it is; undefined where there is none. */
  current(kind: string, id: string): Promise<{ version: number; fields: RecordFields } | undefined>;
  /** The ids of the records of a kind in which a field that is a number of its own, such as an NPI, has this value. */
  havingNumber(kind: string, field: string, value: string): Promise<string[]>;
}
