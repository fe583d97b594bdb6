import { stateCode } from '../../../records/states/stateCode.ts';
import type { Repetition, Segment, Value } from '../message/Segment.ts';
import { type Told, told } from './Told.ts';

/** Types of addresses (HL7 table 0190) in the order in which they are taken; '' stands for none given. Where somebody was born, or a bad one, is not. */
const TYPES: readonly Value[] = ['H', '', 'P', 'L', 'C', 'M', 'O', 'B'];

/** Country codes of three letters (ISO 3166-1, as HL7 table 0399 has them), and usual names, of what is nearly always meant. */
const UNITED_STATES = new Set(['USA', 'UNITED STATES', 'U.S.A.']);

/** An address, by its parts (XAD). */
export interface Address {
  street?: Told | undefined;
  /** Nothing here clears what was there: a flat of the house before is not one of this. */
  line2?: Told | undefined;
  city?: Told | undefined;
  state?: Told | undefined;
  zip?: Told | undefined;
  country?: Told | undefined;
}

/** What a field says of where somebody lives, or something stands. */
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
