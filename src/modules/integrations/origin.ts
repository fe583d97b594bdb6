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
