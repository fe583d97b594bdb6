import { z } from 'zod';
import type { CatalogEntry } from '../../domain/records/catalog.ts';
import { documentFieldsSchema } from '../../domain/records/document.ts';
import { exampleOf } from './examples.ts';
import { matchedTag } from './parameters.ts';

const encoded = 'percent-encoded';

/** Returns the path parameters of a record. */
export function recordPath({ title, schema }: CatalogEntry) {
  const id = schema.shape.id as z.ZodType;
  const description = `The \`id\` that the ${title.toLowerCase()} was sent with, ${encoded}`;
  return z.object({ id: id.meta({ description, examples: [exampleOf(id)] }) });
}

/** Returns the path parameters of an encounter's document. */
export function documentPath(encounter: CatalogEntry) {
  const { document_id } = documentFieldsSchema.shape;
  const description = `The \`document_id\` that the document was uploaded with, ${encoded}`;
  return recordPath(encounter).extend({
    documentId: document_id.meta({ description, examples: [exampleOf(document_id)] }),
  });
}

/** The condition of a removal. */
export const matchHeader = z.object({
  'If-Match': z
    .string()
    .regex(matchedTag)
    .optional()
    .meta({
      description:
        'A version in quotes: write only if it is the current version, otherwise 412. `*`: write only if ' +
        'there is a version. A weak tag, such as `W/"3"`, counts as a strong one',
      examples: ['"3"'],
    }),
});

/** The conditions of an upsert or upload. */
export const conditionHeaders = matchHeader.extend({
  'If-None-Match': z
    .literal('*')
    .optional()
    .meta({
      description: 'Store only if there is none yet, otherwise 412; cannot be combined with `If-Match`',
      examples: ['*'],
    }),
});
