import { fhirRules } from './fhirRules.ts';
import { hl7Rules } from './hl7Rules.ts';
import type { MappingRule } from './mappingRule.ts';
import type { SourceFormat } from './source.ts';

/** How what is sent in a format is read. */
export const rulesOf: Record<SourceFormat, readonly MappingRule[]> = { fhir: fhirRules, hl7v2: hl7Rules };
