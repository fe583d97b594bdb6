/**
 * Beyond this depth, lines are not indented further: the layout stays within a few times the size of what was sent.
 */
const MOST_INDENTED = 16;

const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** Returns JSON on lines by its nesting, each value as sent; undefined for what is not JSON. */
export function layOutJson(text: string): string | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const parts: string[] = [];
  let depth = 0;
  let before = '';
  for (const [token] of text.matchAll(TOKENS)) {
    const isEnd = token === '}' || token === ']';
    if (isEnd) depth--;
    const isLineEnd = before === ',' || before === '{' || before === '[';
    const isEmpty = isEnd && (before === '{' || before === '[');
    if ((isEnd || isLineEnd) && !isEmpty) parts.push('\n', '  '.repeat(Math.min(depth, MOST_INDENTED)));
    else if (before === ':') parts.push(' ');
    parts.push(token);
    if (token === '{' || token === '[') depth++;
    before = token;
  }
  return parts.join('');
}
