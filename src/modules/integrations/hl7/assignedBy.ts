import type { Repetition } from './Segment.ts';

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
