import { InvalidArgumentError } from 'commander';

/** Parses a number of days, at most 9,999; `null` for `none`. */
export function parseDays(text: string): number | null {
  if (text === 'none') return null;
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Specify a whole number of days from 1 to 9999, or none.');
}
