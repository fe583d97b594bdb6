/**
 * Returns what is said about a field, as a sentence: some messages continue from the name of the field; others are
 * sentences of their own.
 */
export function fieldSentence(field: string, message: string): string {
  if (field === '') return message;
  return /^[A-Z]/.test(message) ? `${field}: ${message}` : `${field} ${message}.`;
}
