/** A resource of a message, and what is requested with it. */
export interface FhirEntry {
  /** Where it is: `Bundle.entry[3].resource`; empty for a message that is a single resource. */
  at: string;
  /** In Bulk Data, its line, counted from 1. */
  line?: number;
  /** Its address within the message. */
  fullUrl?: string | undefined;
  resource: unknown;
  /** The id by which it is addressed, with PUT. */
  id?: string | undefined;
  /** The search by which it is addressed: `identifier=system|value`. */
  query?: string | undefined;
  /** Nothing is written where its record already exists. */
  ifAbsent?: boolean | undefined;
  /** The version of the record that it replaces. */
  ifMatch?: number | undefined;
}
