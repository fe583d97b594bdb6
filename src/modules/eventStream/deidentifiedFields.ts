import { z } from 'zod';
import { catalog } from '../../domain/records/catalog.ts';
import { documentFieldsSchema, documentFormats } from '../../domain/records/document.ts';
import { type FieldRules, hashed, listed, shownNames } from '../../domain/records/schema/deidentification.ts';
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

/** What distinguishes events. */
type Told = Pick<FeedEventType, 'kind' | 'logType'>;

/** Returns which fields of events the de-identified view shows: the same for all events of a kind, except those of readiness. */
export function deidentifiedFields({ kind, logType }: Told): FieldRules {
  return (readinessRules.get(logType) ?? rulesByKind.get(kind)) as FieldRules;
}

/** Returns the names of the event fields that the view shows; dotted for those of an insurance. */
export function shownFieldNames(told: Told): string[] {
  return shownNames(deidentifiedFields(told));
}
