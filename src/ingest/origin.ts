/** Where a field of a record comes from. */
export interface Origin {
  /**
   * Where the message says it: `PID^1^5^1^1` (HL7 v2, as ERR-2 has it), `Patient.name[0].family` (FHIRPath). Undefined where no place does, as of a
   * record that a setting names.
   */
  at?: string;
  /** The setting of the source that decided it, where one did: `facility`, `mapping.visit_types`. */
  setting?: string;
  /** Name of the rule by which it was read, of FHIR; of HL7 v2 the field says it. */
  rule?: string;
}

/** By the field of a record, dotted inside an insurance. */
export type Origins = Record<string, Origin>;
