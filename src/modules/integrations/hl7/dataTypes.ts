import { stateCode } from '../../../domain/records/schema/states.ts';
import { type Sourced, sourced, unlessCleared } from './context.ts';
import type { Repetition, Segment, Value } from './parser.ts';

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
interface Address {
  street?: Sourced | undefined;
  /** Here nothing clears what was there: an apartment at the previous address is not part of this one. */
  line2?: Sourced | undefined;
  city?: Sourced | undefined;
  state?: Sourced | undefined;
  zip?: Sourced | undefined;
  country?: Sourced | undefined;
}

/** Returns what a field says about where somebody lives, or where something is. */
export function addressOf(segment: Segment | undefined, field: number): Address {
  const address = chosen(segment?.repetitions(field) ?? []);
  if (address === undefined) return {};
  const [street, other, state, country] = [1, 2, 4, 6].map((component) => address.value(component));
  return {
    street: sourced(street, address.at(1)),
    line2: sourced(other ?? (street === undefined ? undefined : null), address.at(2)),
    city: sourced(address.value(3), address.at(3)),
    state: sourced(state && stateCode(state), address.at(4)),
    zip: sourced(address.value(5), address.at(5)),
    country: sourced(country && UNITED_STATES.has(country.toUpperCase()) ? 'US' : country, address.at(6)),
  };
}

/** Returns it as the fields that people and places have. */
export function addressFields({ street, line2, city, state, zip, country }: Address) {
  return { address_line_1: street, address_line_2: line2, city, state, zip_code: zip, country };
}

function chosen(addresses: readonly Repetition[]): Repetition | undefined {
  const placeOf = (address: Repetition) => TYPES.indexOf(address.value(7) ?? '');
  return addresses.filter((one) => placeOf(one) >= 0).toSorted((a, b) => placeOf(a) - placeOf(b))[0];
}

/** HL7 table 0203. */
const SOCIAL_SECURITY = 'SS';

/** Whether an identifier (CX) is a Social Security number, which is never an id. */
export function isSsn(identifier: Repetition): boolean {
  return identifier.value(5) === SOCIAL_SECURITY;
}

/**
 * Whether an authority (HD), by its namespace or its universal id, assigned an identifier (CX, XCN), which holds it
 * in a component.
 */
export function isOf(authority: string, identifier: Repetition, component: number): boolean {
  return identifier.value(component) === authority || identifier.value(component, 2) === authority;
}

/** Returns the usable identifier (CX) that an authority assigned; undefined where it assigned none of them. */
export function assignedBy(
  authority: string | undefined,
  identifiers: readonly Repetition[],
  isUsable: (identifier: Repetition) => boolean = () => true,
): Repetition | undefined {
  return authority === undefined
    ? undefined
    : identifiers.find((one) => isOf(authority, one, 4) && isUsable(one));
}

/** Returns the last four digits of a number of four or nine; undefined for any other. */
export function lastFourOf(number: string): string | undefined {
  const digits = number.replaceAll(/[\s-]/g, '');
  return /^(?:\d{5})?\d{4}$/.test(digits) ? digits.slice(-4) : undefined;
}

/** Equipment (HL7 table 0202) for speaking; '' means none given. */
const PHONES: readonly Value[] = ['PH', 'CP', 'SAT', ''];

/** Returns the first phone number among the ways to reach somebody (XTN); `null` where they are all cleared. */
export function phoneOf(ways: readonly Repetition[]): Sourced | undefined {
  return firstOf(ways, (way) =>
    isMail(way) || !PHONES.includes(way.value(3) ?? '') ? undefined : numberOf(way),
  );
}

/** Returns the first email address among them. */
export function emailOf(ways: readonly Repetition[]): Sourced | undefined {
  return firstOf(ways, (way) =>
    isMail(way) ? (unlessCleared(sourcedComponent(way, 4)) ?? mailIn(sourcedComponent(way, 1))) : undefined,
  );
}

function firstOf(
  ways: readonly Repetition[],
  read: (way: Repetition) => Sourced | undefined,
): Sourced | undefined {
  const [first] = ways;
  if (first && ways.every((way) => way.isCleared)) return sourced<null>(null, first.at(1));
  for (const way of ways) {
    const found = way.isCleared ? undefined : unlessCleared(read(way));
    if (found) return found;
  }
  return undefined;
}

/** Returns what a component says, with its place. */
function sourcedComponent(way: Repetition, component: number): Sourced | undefined {
  return sourced(way.value(component), way.at(component));
}

/** Determined by its use, by its equipment (tables 0201 and 0202), or by how it looks. */
function isMail(way: Repetition): boolean {
  return (
    way.value(2) === 'NET' ||
    /^(?:internet|x\.400)$/i.test(way.value(3) ?? '') ||
    (way.value(1) ?? way.value(4) ?? '').includes('@')
  );
}

function mailIn(text: Sourced | undefined): Sourced | undefined {
  return text?.value?.includes('@') ? text : undefined;
}

/**
 * Returns the number as one text, where it was sent that way, otherwise from its parts: country, area, number,
 * extension.
 */
function numberOf(way: Repetition): Sourced | undefined {
  const whole = unlessCleared(sourcedComponent(way, 1)) ?? unlessCleared(sourcedComponent(way, 12));
  if (whole) return whole;
  const [country, area, local, extension] = [way.value(5), way.value(6), way.value(7), way.value(8)];
  if (!local) return undefined;
  const number = `${country ? `+${country.replace(/^\+/, '')} ` : ''}${area ? `${area} ` : ''}${local}${extension ? ` x${extension}` : ''}`;
  return sourced(number, way.at(7));
}

/** HL7 table 0200. */
const LEGAL = 'L';

/** A person's name, with where it is. */
interface Name {
  first: Sourced | undefined;
  last: Sourced | undefined;
  repetition: number;
}

/** Returns the name in a field of names (XPN): one with family and given name, the legal one first. */
export function nameOf(segment: Segment | undefined, field: number): Name {
  const names: readonly Repetition[] = segment?.repetitions(field) ?? [];
  const isWhole = (one: Repetition) => Boolean(one.value(1) && one.value(2));
  const legal = names.filter((one) => one.value(7) === LEGAL);
  const name = [...legal, ...names].find(isWhole) ?? legal[0] ?? names[0];
  const [first, last] = [sourced(name?.value(2), name?.at(2)), sourced(name?.value(1), name?.at(1))];
  return { first, last, repetition: name?.number ?? 1 };
}

/** Where a field is. */
export interface Place {
  /** Name of the segment. */
  segment: string;
  field: number;
}

/** Returns what a name such as `PV1-19` stands for. */
export function placeOf(name: string): Place {
  const [segment = '', field] = name.split('-');
  return { segment, field: Number(field) };
}
