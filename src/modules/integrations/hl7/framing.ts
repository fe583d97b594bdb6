import { ServiceError } from '../../../platform/errors.ts';

/**
 * Names of character sets (MSH-18, HL7 table 0211, and what senders write for them), with the labels that
 * `TextDecoder` uses.
 */
const labels = new Map([
  ['', 'utf-8'],
  ['ASCII', 'utf-8'],
  ['UNICODE', 'utf-8'],
  ['UNICODE UTF-8', 'utf-8'],
  ['UTF-8', 'utf-8'],
  ['UTF8', 'utf-8'],
  ['8859/1', 'iso-8859-1'],
  ['ISO-8859-1', 'iso-8859-1'],
  ['8859/15', 'iso-8859-15'],
  ['ISO-8859-15', 'iso-8859-15'],
  ['WINDOWS-1252', 'windows-1252'],
  ['CP1252', 'windows-1252'],
]);

/** What may be sent in MSH-18. */
export const KNOWN_CHARACTER_SETS = 'UNICODE UTF-8, 8859/1, 8859/15 or WINDOWS-1252';

/** The character set in which each byte is the character with its number: converting there and back loses nothing. */
export const BYTES = 'latin1';

/**
 * Returns the label that `decode` uses for the character set with that name; undefined for an unknown one. ASCII, the
 * default, is part of UTF-8.
 */
export function characterSetOf(name: string): string | undefined {
  return labels.get(name.trim().toUpperCase());
}

const decoders = new Map<string, InstanceType<typeof TextDecoder>>();

/** Making a decoder takes longer than decoding a text with it. */
function decoderOf(characterSet: string) {
  const decoder = decoders.get(characterSet) ?? new TextDecoder(characterSet, { fatal: true });
  decoders.set(characterSet, decoder);
  return decoder;
}

/** Decodes bytes in a character set; undefined when they are not valid in it. */
export function decode(bytes: Uint8Array, characterSet: string): string | undefined {
  if (characterSet === BYTES) return Buffer.from(bytes).toString(BYTES);
  try {
    return decoderOf(characterSet).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Encodes a text in a character set; `?` stands for characters that it does not have. */
export function encode(text: string, characterSet: string): Buffer {
  if (characterSet === 'utf-8') return Buffer.from(text);
  const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  const characters = new Map(
    Array.from(bytes, (byte) => [decode(bytes.subarray(byte, byte + 1), characterSet), byte]),
  );
  return Buffer.from(Array.from(text, (character) => characters.get(character) ?? 0x3f));
}

/** Segments around the messages of a file or batch (HL7 v2.5.1, 2.10.3); only the messages in it count. */
const ENVELOPE = /^(?:FHS|BHS|BTS|FTS)/;

/** Matches the lines of a body: what is between line ends and the characters that frame a message in MLLP. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it frames messages
const LINES = /[^\r\n\v\x1c]+/g;

/** Lines of a body: a thousand messages with a hundred segments each. */
const MOST_LINES = 100_000;

/**
 * Returns the messages of a body, one after another, with or without the envelope of a batch. Throws `malformed_body`
 * when there is none, or when there is something else before or between them, and `payload_too_large` beyond 100,000 lines.
 */
export function splitMessages(body: Buffer): Buffer[] {
  const isMarked = body.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf]));
  const unmarked = isMarked ? body.subarray(3) : body;
  const spans: { start: number; end: number }[] = [];
  let open: { start: number; end: number } | undefined;
  let lines = 0;
  for (const { 0: line, index } of unmarked.toString(BYTES).matchAll(LINES)) {
    lines += 1;
    if (lines > MOST_LINES) throw tooManyLines();
    if (ENVELOPE.test(line)) open = undefined;
    else if (line.startsWith('MSH')) {
      open = { start: index, end: index + line.length };
      spans.push(open);
    } else if (open) open.end = index + line.length;
    else if (line.trim() !== '') throw notMessages();
  }
  if (spans.length === 0) throw notMessages();
  return spans.map(({ start, end }) => unmarked.subarray(start, end));
}

function notMessages(): ServiceError {
  return new ServiceError(
    'malformed_body',
    'The body must consist of consecutive HL7 v2 messages. Each message begins with an MSH segment, and each segment is on its own line.',
  );
}

function tooManyLines(): ServiceError {
  return new ServiceError(
    'payload_too_large',
    'The body has more than 100,000 segments. Split it into several requests.',
  );
}
