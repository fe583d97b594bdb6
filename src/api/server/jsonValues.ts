/** How deeply the objects and arrays of a JSON text may be nested: far more than those of any format that is accepted. */
export const MAX_DEPTH = 100;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
/** `{` and `}`; `[` and `]` differ from these in one bit. */
const OPEN = 0x7b;
const CLOSE = 0x7d;
const SAME = 0x20;

/**
 * Returns about how many values a JSON text has: its commas, objects and arrays. It builds none of them, so that what is beyond
 * a bound costs nothing: the shortest value has two bytes, and takes thirty times as many once it is parsed. Counts no further than
 * just beyond `most`; a text that is nested more deeply than `MAX_DEPTH` has infinitely many.
 */
export function valuesIn(json: Uint8Array, most: number): number {
  const { length } = json;
  let values = 0;
  let depth = 0;
  for (let at = 0; at < length && values <= most; at += 1) {
    const byte = json[at] as number;
    if (byte === QUOTE) at = endOfString(json, at + 1);
    else if (byte === COMMA) values += 1;
    else if ((byte | SAME) === OPEN) {
      values += 1;
      depth += 1;
      if (depth > MAX_DEPTH) return Number.POSITIVE_INFINITY;
    } else if ((byte | SAME) === CLOSE) depth -= 1;
  }
  return values;
}

/** Returns where the string that begins at `start` ends: at its quote, or at the end of the text. */
function endOfString(json: Uint8Array, start: number): number {
  const { length } = json;
  let at = start;
  for (; at < length && json[at] !== QUOTE; at += 1) if (json[at] === BACKSLASH) at += 1;
  return at;
}
