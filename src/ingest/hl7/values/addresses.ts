import { stateCode } from '../../../records/states/stateCode.ts';
import type { Repetition, Segment, Value } from '../message/Segment.ts';

/** Types of addresses (HL7 table 0190) in the order in which they are taken; '' stands for none given. Where somebody was born, or a bad one, is not. */
const TYPES: readonly Value[] = ['H', '', 'P', 'L', 'C', 'M', 'O', 'B'];

/** Country codes of three letters (ISO 3166-1, as HL7 table 0399 has them), and usual names, of what is nearly always meant. */
const UNITED_STATES = new Set(['USA', 'UNITED STATES', 'U.S.A.']);

/** An address, by its parts (XAD). */
export interface Address {
  street: Value;
  /** Nothing here clears what was there: a flat of the house before is not one of this. */
  line2: Value;
  city: Value;
  state: Value;
  zip: Value;
  country: Value;
}

const nothing: Address = {
  ...{ street: undefined, line2: undefined, city: undefined },
  ...{ state: undefined, zip: undefined, country: undefined },
};

/** What a field says of where somebody lives, or something stands. */
export function addressOf(segment: Segment | undefined, field: number): Address {
  const address = chosen(segment?.repetitions(field) ?? []);
  if (address === undefined) return nothing;
  const [street, other, state, country] = [1, 2, 4, 6].map((component) => address.value(component));
  return {
    street,
    line2: other ?? (street === undefined ? undefined : null),
    city: address.value(3),
    state: state && stateCode(state),
    zip: address.value(5),
    country: country && UNITED_STATES.has(country.toUpperCase()) ? 'US' : country,
  };
}

function chosen(addresses: readonly Repetition[]): Repetition | undefined {
  const placeOf = (address: Repetition) => TYPES.indexOf(address.value(7) ?? '');
  return addresses.filter((one) => placeOf(one) >= 0).toSorted((a, b) => placeOf(a) - placeOf(b))[0];
}
