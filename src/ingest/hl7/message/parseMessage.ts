import { type Hl7Refusal, refusal } from '../hl7Issue.ts';
import { BYTES, characterSetOf, decode, KNOWN_CHARACTER_SETS } from './characterSets.ts';
import { delimitersOf, usualDelimiters } from './delimiters.ts';
import { Hl7Message } from './Hl7Message.ts';

/** Maximum size of a message. */
export const MAX_MESSAGE_BYTES = 1024 * 1024;

/** How much of a larger message is looked at, in order to answer it. */
const HEADER_BYTES = 4096;

/** A segment's name, followed by its end or by what separates its first field. */
const SEGMENT = /^[A-Z][A-Z0-9]{2}$/;

/**
 * Parses a message from bytes that begin with `MSH`. It never throws: a message that cannot be read says why in
 * `refusal`, and has as much of its header as an acknowledgement needs.
 */
export function parseMessage(bytes: Uint8Array): Hl7Message {
  const isTooLarge = bytes.length > MAX_MESSAGE_BYTES;
  const raw = Buffer.from(isTooLarge ? bytes.subarray(0, HEADER_BYTES) : bytes).toString(BYTES);
  const header = linesOf(raw)[0] ?? '';
  const delimiters = header.startsWith('MSH') ? delimitersOf(header) : undefined;
  if (delimiters === undefined) {
    const encoding = { delimiters: usualDelimiters, characterSet: BYTES };
    return new Hl7Message(
      ['MSH'],
      encoding,
      refusal('AR', '102', 'MSH^1^2', 'MSH-1 and MSH-2 must name the delimiters, such as |^~\\&.'),
    );
  }
  const asBytes = { delimiters, characterSet: BYTES };
  const refused = (why: Hl7Refusal) => new Hl7Message([header], asBytes, why);
  if (isTooLarge) {
    return refused(refusal('AE', '104', undefined, 'A message can have at most 1 MB.'));
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
  const odd = lines.findIndex((line) => !SEGMENT.test(line.split(delimiters.field, 1)[0] as string));
  if (odd >= 0) {
    const remedy = `Line ${odd + 1} does not begin with a segment name. Within a field, send line breaks as an escape sequence.`;
    return refused(refusal('AE', '100', undefined, remedy));
  }
  return new Hl7Message(lines, { delimiters, characterSet });
}

/** Segments end with CR; LF and CRLF are common. */
function linesOf(text: string): string[] {
  return text.split(/[\r\n]+/).filter((line) => line !== '');
}
