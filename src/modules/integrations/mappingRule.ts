/** How fields of a record are read from messages. */
export interface MappingRule {
  /** The name used in the guides, and wherever it is reported which rule set a field. */
  name: string;
  /** What it sets, as worded in the guide. */
  sets: string;
  /** From what, as worded in the guide. */
  from: string;
  /** Kind of the record (HL7 v2), including `insurance` and `document`; type of the resource (FHIR). */
  of: readonly string[];
  /** The fields; of an insurance without its rank. */
  fields: readonly string[];
}

/** Returns the rule that sets a field of one of these. */
export function ruleOf(rules: readonly MappingRule[], of: string, field: string): MappingRule | undefined {
  return rules.find((rule) => rule.of.includes(of) && rule.fields.includes(field));
}
