/** How fields of a record are read from messages. */
export interface MappingRule {
  /** Known by it in the guides, and wherever it is told which rule set a field. */
  name: string;
  /** What it sets, as the guide has it. */
  sets: string;
  /** From what, as the guide has it. */
  from: string;
  /** Kind of the record (HL7 v2), `insurance` and `document` among them; type of the resource (FHIR). */
  of: readonly string[];
  /** The fields; of an insurance without its rank. */
  fields: readonly string[];
}

/** The rule that sets a field of one of these. */
export function ruleOf(rules: readonly MappingRule[], of: string, field: string): MappingRule | undefined {
  return rules.find((rule) => rule.of.includes(of) && rule.fields.includes(field));
}
