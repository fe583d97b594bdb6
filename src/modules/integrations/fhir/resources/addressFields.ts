import { stateCode } from '../../../../domain/records/schema/stateCode.ts';
import type { Address } from './dataTypes.ts';

const COUNTRIES = new Map([
  ['usa', 'US'],
  ['united states', 'US'],
  ['united states of america', 'US'],
]);

/** Returns an address as a record has it. */
export function addressFields(address: Address | undefined): Record<string, string> {
  if (address === undefined) return {};
  const { line = [], city, state, postalCode, country } = address;
  const [first, second] = [line[0], line.slice(1).join(', ')];
  return {
    ...(first && { address_line_1: first }),
    ...(second && { address_line_2: second }),
    ...(city && { city }),
    ...(state && { state: stateCode(state) }),
    ...(postalCode && { zip_code: postalCode }),
    ...(country && { country: COUNTRIES.get(country.toLowerCase()) ?? country }),
  };
}
