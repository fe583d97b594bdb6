import type { DocumentCategory } from '../../../domain/records/document.ts';

/** The categories of the documents that every encounter of a visit type needs, by visit type. */
export type RequiredDocuments = ReadonlyMap<string, readonly DocumentCategory[]>;

/** Data of `RequiredDocumentSet`. */
export interface RequiredDocumentSet {
  visit_type: string;
  category: DocumentCategory;
  required: boolean;
}

/** Returns what is required after an event; the given requirements are not changed. */
export function withRequiredDocument(
  before: RequiredDocuments,
  { visit_type: visitType, category, required }: RequiredDocumentSet,
): RequiredDocuments {
  const others = (before.get(visitType) ?? []).filter((one) => one !== category);
  const categories = required ? [...others, category] : others;
  const after = new Map(before);
  if (categories.length === 0) after.delete(visitType);
  else after.set(visitType, categories);
  return after;
}
