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
