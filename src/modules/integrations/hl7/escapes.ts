import { decode } from './characterSets.ts';
import type { Delimiters } from './delimiters.ts';

/** The maximum number of lines or blanks that one formatting command produces. */
const MOST_SPACE = 100;

/** Formatting commands of HL7 v2.5.1, 2.7.6, that end a line. */
const LINE_ENDS = new Set(['.br', '.ce', '.sp']);

/**
 * Returns the text that an escaped one stands for (HL7 v2.5.1, 2.7): delimiters, bytes in the message's character
 * set, line ends. Highlighting, other character sets and what senders agreed on among themselves (`\H\`, `\C…\`,
 * `\Z…\`) are left out; what is not an escape sequence stays.
 */
export function unescapeText(text: string, delimiters: Delimiters, characterSet: string): string {
  const { escape: sign } = delimiters;
  if (!text.includes(sign)) return text;
  const parts = text.split(sign);
  let plain = parts[0] as string;
  for (let place = 1; place < parts.length; place++) {
    const sequence = parts[place] as string;
    const meaning = place === parts.length - 1 ? undefined : meaningOf(sequence, delimiters, characterSet);
    if (meaning === undefined) plain += sign + sequence;
    else {
      place += 1;
      plain += meaning + parts[place];
    }
  }
  return plain;
}

function meaningOf(sequence: string, delimiters: Delimiters, characterSet: string): string | undefined {
  switch (sequence) {
    case 'F':
      return delimiters.field;
    case 'S':
      return delimiters.component;
    case 'T':
      return delimiters.subcomponent;
    case 'R':
      return delimiters.repetition;
    case 'E':
      return delimiters.escape;
    case 'P':
      return '#';
    case 'H':
    case 'N':
      return '';
  }
  const bytes = /^X((?:[0-9A-Fa-f]{2})+)$/.exec(sequence)?.[1];
  if (bytes !== undefined) return decode(Buffer.from(bytes, 'hex'), characterSet);
  if (/^(?:C[0-9A-Fa-f]{4}|M[0-9A-Fa-f]{4,6}|Z[^\s]*)$/.test(sequence)) return '';
  return formatting(sequence);
}

function formatting(sequence: string): string | undefined {
  const [, command = '', sign = '', count = ''] =
    /^(\.(?:br|ce|sp|in|ti|fi|nf|sk))\s*([+-]?)(\d{0,4})$/.exec(sequence) ?? [];
  if (command === '') return undefined;
  const times = Math.min(Number(count || '1'), MOST_SPACE);
  if (LINE_ENDS.has(command)) return '\n'.repeat(times);
  return command === '.sk' && sign !== '-' ? ' '.repeat(times) : '';
}

/** Returns a text escaped for a message with such delimiters: on one line. */
export function escapeText(text: string, delimiters: Delimiters): string {
  const { escape: sign, field, component, subcomponent, repetition } = delimiters;
  const letters = new Map([
    [sign, 'E'],
    [field, 'F'],
    [component, 'S'],
    [subcomponent, 'T'],
    [repetition, 'R'],
  ]);
  return Array.from(text, (character) => {
    if (/[\r\n]/.test(character)) return ' ';
    const letter = letters.get(character);
    return letter === undefined ? character : `${sign}${letter}${sign}`;
  }).join('');
}
