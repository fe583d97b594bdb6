/** Returns a code such as `validation_failed` for people. */
export function wordsOf(code: string): string {
  return code.replaceAll('_', ' ');
}

/** Returns a kind of record or setting, or another code, for people, capitalized as at the beginning of a line. */
export function titleOf(code: string): string {
  const text = wordsOf(code).replace(/^api /, 'API ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}
