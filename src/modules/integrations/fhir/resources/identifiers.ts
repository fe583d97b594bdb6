import type { Identifier } from './dataTypes.ts';

/** Systems of identifiers that have fields of their own (US Core, and HL7's registry of systems). */
export const systems = {
  npi: 'http://hl7.org/fhir/sid/us-npi',
  ssn: 'http://hl7.org/fhir/sid/us-ssn',
  ein: 'urn:oid:2.16.840.1.113883.4.4',
  clia: 'urn:oid:2.16.840.1.113883.4.7',
  naic: 'urn:oid:2.16.840.1.113883.6.300',
} as const;

/** Returns the non-empty value of the identifier of a system; that of an `old` one only where there is no other. */
export function identifierOf(
  identifiers: readonly Identifier[] | undefined,
  system: string,
): string | undefined {
  const own = identifiers?.filter((one) => one.system === system && one.value) ?? [];
  return (own.find(({ use }) => use !== 'old') ?? own[0])?.value;
}

/** Returns the identifier of a system whose values are numbers, which people write with blanks. */
export function numberOf(identifiers: readonly Identifier[] | undefined, system: string): string | undefined {
  return identifierOf(identifiers, system)?.replaceAll(/\s/g, '');
}
