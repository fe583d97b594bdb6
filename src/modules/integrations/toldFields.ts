import { flatFields } from './flatFields.ts';
import type { Operation } from './operation.ts';

/** Returns what an operation says about its record, or about its document, by fields: dotted inside an insurance. */
export function toldFields(operation: Operation): [field: string, value: unknown][] {
  if (operation.type === 'merge') return [['merged_into', operation.into]];
  if (operation.type === 'record') return flatFields(operation.fields);
  const { documentId, category, fileName: filename } = operation;
  return flatFields({ document_id: documentId, category, filename, file: undefined });
}
