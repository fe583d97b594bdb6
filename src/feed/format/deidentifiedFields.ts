import { z } from 'zod';
import { catalog } from '../../records/catalog.ts';
import { type FieldRules, hashed, listed, shownNames } from '../../records/deidentification.ts';
import { documentFieldsSchema, documentFormats } from '../../records/document.ts';
import type { FeedEventType } from './cloudEvent.ts';
import { readinessRules } from './readinessEvents.ts';

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

/** What events are told apart by. */
type Told = Pick<FeedEventType, 'kind' | 'logType'>;

/** What the de-identified view shows of the fields of events: the same of all events of a kind, but for those of readiness. */
export function deidentifiedFields({ kind, logType }: Told): FieldRules {
  return (readinessRules.get(logType) ?? rulesByKind.get(kind)) as FieldRules;
}

/** Names of the fields of events that the view shows; those of an insurance are dotted. */
export function shownFieldNames(told: Told): string[] {
  return shownNames(deidentifiedFields(told));
}
