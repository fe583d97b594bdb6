import { stateCode } from '../../../domain/records/schema/stateCode.ts';

/** The converted cell, and what had to be guessed. */
export interface Converted {
  value: string;
  guess?: string;
}

/** A ZIP code, or ZIP+4, that was treated as a number somewhere: without its one or two leading zeros. */
const numericZip = /^(?:\d{3,4}|\d{7,8})$/;

/** Formats ZIP+4 as USPS does, restoring leading zeros that a spreadsheet may have dropped. */
function zipCode(zip: string): Converted {
  const isNumeric = numericZip.test(zip);
  const padded = isNumeric ? zip.padStart(zip.length > 5 ? 9 : 5, '0') : zip;
  const value = padded.replace(/^(\d{5})(\d{4})$/, '$1-$2');
  return {
    value,
    ...(isNumeric && { guess: 'had lost its leading zeros in the file; they were added' }),
  };
}

/** Returns the part of a social security number that may be stored: nothing else of it leaves this function. */
function lastFourDigits(text: string): Converted {
  const digits = text.replace(/\D/g, '');
  return { value: digits.length >= 4 ? digits.slice(-4) : '' };
}

const wordsOf = (name: string) => name.trim().split(/\s+/);

/** What a mapping may do with a cell (`as`); an empty value stands for none. */
export const conversions = {
  last_four_digits: lastFourDigits,
  state_code: (state: string): Converted => ({ value: stateCode(state) }),
  zip_code: zipCode,
  /** The last word of a full name is the last name, everything before it the first. */
  first_names: (name: string): Converted => ({ value: wordsOf(name).slice(0, -1).join(' ') }),
  last_name: (name: string): Converted => ({ value: wordsOf(name).at(-1) ?? '' }),
} as const;

export type ConversionName = keyof typeof conversions;

export const conversionNames = Object.keys(conversions) as ConversionName[];
