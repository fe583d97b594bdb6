import { isJsonObject } from '../../../domain/events/event.ts';

/**
 * Characters that a reader does not see, or that change how the others are shown: controls (ANSI sequences), formats (right-to-left,
 * zero width, tags), private and unassigned ones, line separators, variation selectors, halves of pairs. The escape's own beginning
 * is among them, so that an escape always stands for its character.
 */
const unsafe = /\\(?=u\{)|[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Variation_Selector}]/gu;

/** Values are cut to the first of these lengths with which an answer has at most `MOST_BYTES`, otherwise to the last. */
const VALUE_LENGTHS = [300, 60, 20];
const MOST_BYTES = 48 * 1024;

/** What is never cut: it is named in later calls, or is no value of a record. */
const whole = /^(?:id|\w+_id|cursor|link|notice|text|section)$/;

/** Returns an answer with invisible characters escaped, and long values cut; both can be seen in the values. */
export function asData<Answer extends object>(answer: Answer): Answer {
  let data = answer;
  for (const length of VALUE_LENGTHS) {
    data = cleaned(answer, '', length) as Answer;
    if (Buffer.byteLength(JSON.stringify(data)) <= MOST_BYTES) break;
  }
  return data;
}

function cleaned(value: unknown, name: string, length: number): unknown {
  if (typeof value === 'string') return whole.test(name) ? visible(value) : cut(visible(value), length);
  if (Array.isArray(value)) return value.map((one) => cleaned(one, name, length));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [cut(visible(key), length), cleaned(one, key, length)]),
  );
}

function visible(text: string): string {
  return text.replace(
    unsafe,
    (character) => `\\u{${(character.codePointAt(0) as number).toString(16).toUpperCase()}}`,
  );
}

function cut(text: string, length: number): string {
  const characters = [...text];
  if (characters.length <= length) return text;
  return `${characters.slice(0, length).join('')} … (${characters.length} characters)`;
}
