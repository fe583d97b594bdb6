import { z } from 'zod';
import { catalog } from '../../records/catalog.ts';
import { type FieldRules, hashed, listed, shownNames } from '../../records/deidentification.ts';
import { documentFieldsSchema, documentFormats } from '../../records/document.ts';

const documentRules: FieldRules = {
  encounter_id: hashed('encounter'),
  document_id: hashed('document'),
  category: listed(documentFieldsSchema.shape.category),
  filename: 'left out',
  format: listed(z.enum(Object.keys(documentFormats))),
  size: 'left out',
  sha256: 'left out',
  object_id: 'left out',
};

const rulesByKind = new Map<string, FieldRules>([
  ...catalog.map(({ kind, deidentified }) => [kind, deidentified] as const),
  ['document', documentRules],
]);

/** What the de-identified view shows of the fields of each kind, and of documents. */
export function deidentifiedFields(kind: string): FieldRules {
  return rulesByKind.get(kind) as FieldRules;
}

/** Names of the fields of a kind that the view shows; those of an insurance are dotted. */
export function shownFieldNames(kind: string): string[] {
  return shownNames(deidentifiedFields(kind));
}
