import { z } from 'zod';
import type { CatalogEntry } from '../../records/catalog.ts';
import { documentFieldsSchema } from '../../records/document.ts';
import { versionTag } from '../routes/parameters.ts';
import { exampleOf } from './examples.ts';

const encoded = 'percent-encoded';

/** The path of a record. */
export function recordPath({ title, schema }: CatalogEntry) {
  const id = schema.shape.id as z.ZodType;
  const description = `The \`id\` that the ${title.toLowerCase()} was sent with, ${encoded}`;
  return z.object({ id: id.meta({ description, examples: [exampleOf(id)] }) });
}

/** The path of a document of an encounter. */
export function documentPath(encounter: CatalogEntry) {
  const { document_id } = documentFieldsSchema.shape;
  const description = `The \`document_id\` that the document was uploaded with, ${encoded}`;
  return recordPath(encounter).extend({
    documentId: document_id.meta({ description, examples: [exampleOf(document_id)] }),
  });
}

/** The conditions of an upsert. */
export const conditionHeaders = z.object({
  'If-Match': z
    .string()
    .regex(versionTag)
    .optional()
    .meta({
      description: 'One version in quotes: store only when the record is at that version, else 412',
      examples: ['"3"'],
    }),
  'If-None-Match': z
    .literal('*')
    .optional()
    .meta({
      description: 'Store only when there is no such record yet, else 412; not together with `If-Match`',
      examples: ['*'],
    }),
});
