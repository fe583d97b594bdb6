/** Systems of identifiers and codes that records have fields for (US Core, and HL7's registry of systems). */
export const systems = {
  npi: 'http://hl7.org/fhir/sid/us-npi',
  ssn: 'http://hl7.org/fhir/sid/us-ssn',
  ein: 'urn:oid:2.16.840.1.113883.4.4',
  clia: 'urn:oid:2.16.840.1.113883.4.7',
  naic: 'urn:oid:2.16.840.1.113883.6.300',
  taxonomy: 'http://nucc.org/provider-taxonomy',
} as const;

/** The code systems of HL7 are below it. */
export const TERMINOLOGY = 'http://terminology.hl7.org/CodeSystem';

/** Returns a CodeableConcept with one code (FHIR R4, 2.24.0.5). */
export function coded(system: string, code: string) {
  return { coding: [{ system, code }] };
}

/** Returns an element without members that have no value: FHIR has neither empty objects nor empty lists (R4, 2.6.2). */
export function filled<Element extends object>(element: Element): Element {
  const members = Object.entries(element).filter(
    ([, member]) =>
      member !== undefined &&
      member !== null &&
      !(typeof member === 'object' && Object.keys(member).length === 0),
  );
  return Object.fromEntries(members) as Element;
}

/** Returns a HumanName (FHIR R4, 2.24.0.12), empty where both parts are missing. */
export function humanName(given: string | undefined, family: string | undefined) {
  return filled({ family, given: given === undefined ? [] : [given] });
}

/** The parts of an address, as records have them. */
interface AddressParts {
  lines: readonly (string | undefined)[];
  city: string | undefined;
  state: string | undefined;
  zipCode: string | undefined;
  country: string | undefined;
}

/** Returns an Address (FHIR R4, 2.24.0.13) in a list; an empty list where all parts are missing. */
export function addressList({ lines, city, state, zipCode: postalCode, country }: AddressParts) {
  const address = filled({
    line: lines.filter((line) => line !== undefined),
    city,
    state,
    postalCode,
    country,
  });
  return Object.keys(address).length === 0 ? [] : [address];
}
