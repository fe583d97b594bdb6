import { InvalidArgumentError } from 'commander';

/** Parses an integer of 1 or more. */
export function parsePositive(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Specify a whole number of 1 or more.');
}
