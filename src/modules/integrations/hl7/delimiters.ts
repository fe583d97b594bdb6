/** The characters with which a message separates its parts (MSH-1 and MSH-2). */
export interface Delimiters {
  field: string;
  component: string;
  repetition: string;
  escape: string;
  subcomponent: string;
}

/** Those suggested by HL7 v2.5.1 (2.5.4). */
export const usualDelimiters: Delimiters = {
  field: '|',
  component: '^',
  repetition: '~',
  escape: '\\',
  subcomponent: '&',
};

const DELIMITER = /^[!-/:-@[-`{-~]$/;

/**
 * Returns the delimiters that an MSH segment names: ASCII punctuation, all different; undefined where it does not
 * name them. After the four of MSH-2 there may be the truncation character of v2.7, which is not needed.
 */
export function delimitersOf(header: string): Delimiters | undefined {
  const field = header.charAt(3);
  const encodingCharacters = header.slice(4).split(field, 1)[0] ?? '';
  const [component = '', repetition = '', escaping = '', subcomponent = ''] = encodingCharacters;
  const named = [field, component, repetition, escaping, subcomponent];
  const areUsable = named.every((one) => DELIMITER.test(one)) && new Set(named).size === named.length;
  if (!areUsable || encodingCharacters.length > 5) return undefined;
  return { field, component, repetition, escape: escaping, subcomponent };
}
