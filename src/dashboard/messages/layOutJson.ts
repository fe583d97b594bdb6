/** Deeper than that, lines are indented no further: what is laid out stays within some times of what was sent. */
const MOST_INDENTED = 16;

const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** JSON on lines by its nesting, each value as it was sent; undefined for what is no JSON. */
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
