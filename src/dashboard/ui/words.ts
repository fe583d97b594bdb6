/** `validation_failed` as people read it. */
export function wordsOf(code: string): string {
  return code.replaceAll('_', ' ');
}

/** A kind of record or setting, or another code, as people read it at the beginning of a line. */
export function titleOf(code: string): string {
  const text = wordsOf(code).replace(/^api /, 'API ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}
