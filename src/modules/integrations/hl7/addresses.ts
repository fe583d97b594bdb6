import { stateCode } from '../../../domain/records/schema/stateCode.ts';
import type { Repetition, Segment, Value } from './Segment.ts';
import { type Told, told } from './Told.ts';

/**
 * Types of addresses (HL7 table 0190) in order of preference; '' means none given. A place of birth, or a bad
 * address, is not used.
 */
const TYPES: readonly Value[] = ['H', '', 'P', 'L', 'C', 'M', 'O', 'B'];

/**
 * Three-letter country codes (ISO 3166-1, as listed in HL7 table 0399), and common names, of the country that is
 * nearly always meant.
 */
const UNITED_STATES = new Set(['USA', 'UNITED STATES', 'U.S.A.']);

/** An address, by its parts (XAD). */
export interface Address {
  street?: Told | undefined;
  /** Here nothing clears what was there: an apartment at the previous address is not part of this one. */
  line2?: Told | undefined;
  city?: Told | undefined;
  state?: Told | undefined;
  zip?: Told | undefined;
  country?: Told | undefined;
}

/** Returns what a field says about where somebody lives, or where something is. */
export function addressOf(segment: Segment | undefined, field: number): Address {
  const address = chosen(segment?.repetitions(field) ?? []);
  if (address === undefined) return {};
  const [street, other, state, country] = [1, 2, 4, 6].map((component) => address.value(component));
  return {
    street: told(street, address.at(1)),
    line2: told(other ?? (street === undefined ? undefined : null), address.at(2)),
    city: told(address.value(3), address.at(3)),
    state: told(state && stateCode(state), address.at(4)),
    zip: told(address.value(5), address.at(5)),
    country: told(country && UNITED_STATES.has(country.toUpperCase()) ? 'US' : country, address.at(6)),
  };
}

function chosen(addresses: readonly Repetition[]): Repetition | undefined {
  const placeOf = (address: Repetition) => TYPES.indexOf(address.value(7) ?? '');
  return addresses.filter((one) => placeOf(one) >= 0).toSorted((a, b) => placeOf(a) - placeOf(b))[0];
}
