import { z } from 'zod';
import { RECORD_ERASED } from '../../domain/events/recordErased.ts';
import { catalogEntry } from '../../domain/records/catalog.ts';
import { documentFieldsSchema, documentFormats } from '../../domain/records/document.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { sentSchema } from '../../domain/records/patchRecord.ts';
import { shownSchema } from '../../domain/records/schema/deidentification.ts';
import { type FeedEventType, feedEventTypes } from './cloudEvent.ts';
import { deidentifiedSchemaName } from './Deidentifier.ts';
import { deidentifiedFields, shownFieldNames } from './deidentifiedFields.ts';
import { readinessSchemas } from './readinessEvents.ts';

/** The JSON Schema of one type of event in one view: a document at `/schemas/{name}`. */
export interface EventSchema {
  /** The event's type; the de-identified view has its own name. */
  name: string;
  feedType: FeedEventType;
  view: 'full' | 'deidentified';
  /** What the event reports. */
  title: string;
  /** Of the event's `data`. */
  data: z.ZodObject;
}

const { document_id, category } = documentFieldsSchema.shape;
const encounterId = encounter.schema.shape.id;

/** The data of document events: the caller's fields and what is known of the file. */
export const documentSchemas = {
  DocumentUploaded: z.object({
    encounter_id: encounterId,
    document_id,
    category,
    filename: z.string().meta({ description: 'Base name of the file, as sent', examples: ['results.pdf'] }),
    format: z.enum(Object.keys(documentFormats)).meta({ examples: ['pdf'] }),
    size: z
      .int()
      .min(0)
      .meta({ description: 'Bytes', examples: [48_213] }),
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .meta({ description: 'SHA-256 of the file, lowercase hex' }),
  }),
  DocumentRemoved: z.object({ encounter_id: encounterId, document_id }),
  DocumentErased: z.object({ encounter_id: encounterId, document_id }),
};

/** Returns the schema of what the erasure of a record reports. */
export function erasedSchema(kind: string): z.ZodObject {
  return z.object({ id: catalogEntry(kind).schema.shape.id as z.ZodType });
}

/** Describes the subject of an event. */
export const subjectDescription =
  'The kind and the percent-encoded id; for a document, `document/{encounter}/{document}`; for the ' +
  'billing readiness of an encounter, `readiness/{encounter}`; for the readiness of all encounters of the ' +
  'workspace, `readiness`';

const version = z
  .int()
  .min(1)
  .meta({
    description: 'Number in the history of the record or document, or among the readiness events: 1, 2, 3 …',
    examples: [2],
  });

const sentDescription =
  'The fields as sent; `null` cleared a field, and a field that is missing here kept its value';
const changedDescription =
  'Names of the fields whose values the event changed; insurance fields use dot notation: ' +
  '`primary_insurance.payer_id`';

/** A patch sends only some of the fields. */
function sentFields({ logType, kind }: FeedEventType): z.ZodObject {
  if (kind === 'document') return documentSchemas[logType as keyof typeof documentSchemas];
  if (kind === 'readiness') return readinessSchemas[logType as keyof typeof readinessSchemas];
  return logType === RECORD_ERASED ? erasedSchema(kind) : sentSchema(kind);
}

/** New fields may be added without a new version, so additional fields are allowed. */
function fullData(feedType: FeedEventType): z.ZodObject {
  return z.object({
    version,
    sent: sentFields(feedType).meta({ description: sentDescription }),
    changed: z.array(z.string()).meta({ description: changedDescription }),
  });
}

/** Contains these fields and no others: the view guarantees that. */
function deidentifiedData(feedType: FeedEventType): z.ZodObject {
  return z.strictObject({
    version,
    sent: shownSchema(deidentifiedFields(feedType), sentFields(feedType)).meta({
      description: `${sentDescription}; data that could identify a person is omitted`,
    }),
    changed: z
      .array(z.enum(shownFieldNames(feedType)))
      .meta({ description: `${changedDescription}; omitted fields are not named` }),
  });
}

function titleOf({ type }: FeedEventType): string {
  const [, named = '', what = ''] = type.split('.');
  const title = named.replace(/^./, (letter) => letter.toUpperCase());
  return `${title} ${what === 'upserted' ? 'created or updated' : what.replaceAll('_', ' ')}`;
}

function bothViews(feedType: FeedEventType): EventSchema[] {
  const title = titleOf(feedType);
  return [
    { name: feedType.type, feedType, view: 'full', title, data: fullData(feedType) },
    {
      name: deidentifiedSchemaName(feedType.type),
      feedType,
      view: 'deidentified',
      title: `${title}, de-identified`,
      data: deidentifiedData(feedType),
    },
  ];
}

/** Every type of event in every view, by name. */
export const eventSchemas: ReadonlyMap<string, EventSchema> = new Map(
  feedEventTypes.flatMap(bothViews).map((schema) => [schema.name, schema]),
);

/** Returns the schema of an event's `data`, as a JSON Schema document (2020-12). */
export function jsonSchemaOf({ name, title, data }: EventSchema): object {
  const { $schema, ...schema } = z.toJSONSchema(data, { io: 'input' });
  return {
    $schema,
    $id: `/schemas/${name}`,
    title,
    description: `\`data\` of the event \`${name}\`.`,
    ...schema,
  };
}
