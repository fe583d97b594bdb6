import type { Operation } from './operations.ts';

/**
 * Returns what is said about a field, as a sentence: some messages continue from the name of the field; others are
 * sentences of their own.
 */
export function fieldSentence(field: string, message: string): string {
  if (field === '') return message;
  return /^[A-Z]/.test(message) ? `${field}: ${message}` : `${field} ${message}.`;
}

/** Returns the fields of a record one by one, those of an insurance dotted. */
export function flatFields(fields: object): [field: string, value: unknown][] {
  return Object.entries(fields).flatMap(([name, value]): [string, unknown][] =>
    typeof value === 'object' && value !== null
      ? Object.entries(value).map(([inner, one]) => [`${name}.${inner}`, one])
      : [[name, value]],
  );
}

/** Returns an offset, in minutes, in ISO 8601. */
export function shownOffset(offset: number): string {
  if (offset === 0) return 'Z';
  const twoDigits = (value: number) => String(value).padStart(2, '0');
  const minutes = Math.abs(offset);
  return `${offset < 0 ? '-' : '+'}${twoDigits(Math.floor(minutes / 60))}:${twoDigits(minutes % 60)}`;
}

/** Returns what an operation says about its record, or about its document, by fields: dotted inside an insurance. */
export function sourcedFields(operation: Operation): [field: string, value: unknown][] {
  if (operation.type === 'removal') return [['document_id', operation.documentId]];
  if (operation.type !== 'document') return flatFields(operation.fields);
  const { documentId, category, fileName: filename } = operation;
  return flatFields({ document_id: documentId, category, filename, file: undefined });
}
