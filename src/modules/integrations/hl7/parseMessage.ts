import { BYTES, characterSetOf, decode, KNOWN_CHARACTER_SETS } from './characterSets.ts';
import { type Delimiters, delimitersOf, usualDelimiters } from './delimiters.ts';
import { Hl7Message } from './Hl7Message.ts';
import { type Hl7Refusal, refusal } from './hl7Issue.ts';
import { MOST_REPETITIONS } from './Segment.ts';

/** Maximum size of a message. */
export const MAX_MESSAGE_BYTES = 1024 * 1024;

/** Maximum numbers of segments and escape characters of a message: they take up to a hundred times their bytes. */
const MOST_SEGMENTS = 10_000;
const MOST_ESCAPES = 100_000;

/** How much is looked at of the header of a larger message, in order to answer it. */
const HEADER_BYTES = 4096;

/** A segment's name, followed by its end or by what separates its first field. */
const SEGMENT = /^[A-Z][A-Z0-9]{2}$/;

/**
 * Parses a message from bytes that begin with `MSH`. It never throws: a message that cannot be read says why in
 * `refusal`, and has as much of its header as an acknowledgement needs, and those segments that can be told apart:
 * whom it is about must be known nevertheless.
 */
export function parseMessage(bytes: Uint8Array): Hl7Message {
  const isTooLarge = bytes.length > MAX_MESSAGE_BYTES;
  const [first = '', ...rest] = linesOf(Buffer.from(bytes).toString(BYTES));
  const header = isTooLarge ? first.slice(0, HEADER_BYTES) : first;
  const delimiters = header.startsWith('MSH') ? delimitersOf(header) : undefined;
  if (delimiters === undefined) {
    const encoding = { delimiters: usualDelimiters, characterSet: BYTES };
    return new Hl7Message(
      ['MSH', ...rest.filter((line) => isSegment(line, usualDelimiters))],
      encoding,
      refusal('AR', '102', 'MSH^1^2', 'MSH-1 and MSH-2 must name the delimiters, such as |^~\\&.'),
    );
  }
  const asBytes = { delimiters, characterSet: BYTES };
  const refused = (why: Hl7Refusal, told = [header, ...rest], encoding = asBytes) =>
    new Hl7Message(
      told.filter((line) => isSegment(line, delimiters)),
      encoding,
      why,
    );
  if (isTooLarge) {
    return refused(refusal('AE', '104', undefined, 'A message can have at most 1 MB.'));
  }
  if (
    rest.length >= MOST_SEGMENTS ||
    hasMore(bytes, delimiters.repetition, MOST_REPETITIONS) ||
    hasMore(bytes, delimiters.escape, MOST_ESCAPES)
  ) {
    const remedy =
      'A message can have at most 10,000 segments, 10,000 repetitions of fields and 100,000 escape characters.';
    return refused(refusal('AE', '104', undefined, remedy));
  }
  const named = new Hl7Message([header], asBytes).header.value(18) ?? '';
  const characterSet = characterSetOf(named);
  if (characterSet === undefined) {
    return refused(refusal('AR', '103', 'MSH^1^18', `Send ${KNOWN_CHARACTER_SETS}.`));
  }
  const text = decode(bytes, characterSet);
  if (text === undefined) {
    const remedy = `The message is not in the character set named in MSH-18 (UTF-8 if none is named). Send ${KNOWN_CHARACTER_SETS}.`;
    return refused(refusal('AE', '102', 'MSH^1^18', remedy));
  }
  const lines = linesOf(text);
  const odd = lines.findIndex((line) => !isSegment(line, delimiters));
  if (odd >= 0) {
    const remedy = `Line ${odd + 1} does not begin with a segment name. Within a field, send line breaks as an escape sequence.`;
    return refused(refusal('AE', '100', undefined, remedy), lines, { delimiters, characterSet });
  }
  return new Hl7Message(lines, { delimiters, characterSet });
}

function isSegment(line: string, { field }: Delimiters): boolean {
  return SEGMENT.test(line.split(field, 1)[0] as string);
}

/** Segments end with CR; LF and CRLF are common. Those beyond the first that is too much are left out. */
function linesOf(text: string): string[] {
  return text.split(/[\r\n]+/, MOST_SEGMENTS + 2).filter((line) => line !== '');
}

/** Whether bytes contain an ASCII character more often than that. */
function hasMore(bytes: Uint8Array, character: string, times: number): boolean {
  const code = character.charCodeAt(0);
  let count = 0;
  for (let at = 0; at < bytes.length; at += 1) if (bytes[at] === code) count += 1;
  return count > times;
}
