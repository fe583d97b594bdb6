/** A resource of a message, and what is asked for with it. */
export interface FhirEntry {
  /** Where it stands: `Bundle.entry[3].resource`; empty for a message that is one resource. */
  at: string;
  /** Of Bulk Data, its line, from 1. */
  line?: number;
  /** Its address within the message. */
  fullUrl?: string | undefined;
  resource: unknown;
  /** By which it is addressed, with PUT. */
  id?: string | undefined;
  /** A search by which it is addressed: `identifier=system|value`. */
  query?: string | undefined;
  /** Nothing is written where its record is there already. */
  ifAbsent?: boolean | undefined;
  /** The version of the record that it replaces. */
  ifMatch?: number | undefined;
}
