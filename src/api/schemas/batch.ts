import { z } from 'zod';
import { catalog } from '../../domain/records/catalog.ts';
import { outcomes } from '../../domain/records/fold.ts';
import type { CatalogEntry } from '../../domain/records/schema/kind.ts';
import type { ErrorCode } from '../../platform/errors.ts';
import { statusOf } from '../server/answer.ts';
import { exampleOf } from './examples.ts';
import { alwaysTrue, errorSchema, fieldMessageSchema, recordSchemas, versionNumber } from './records.ts';

const kind = z.enum(catalog.map((entry) => entry.kind));

const ifMatch = z
  .union([z.int().min(1), z.literal('*')])
  .optional()
  .meta({ description: 'Write only if the record has this version, or with `*`, only if it exists' });

function lineSchema({ kind, title }: CatalogEntry) {
  const fields = { kind: z.literal(kind), record: recordSchemas(kind).request, if_match: ifMatch };
  return z.object(fields).meta({ id: `${title}Line`, description: `One ${kind} of a batch.` });
}

const [firstLine, ...otherLines] = catalog.map(lineSchema) as [
  ReturnType<typeof lineSchema>,
  ...ReturnType<typeof lineSchema>[],
];

/** A line of a batch. */
export const batchLineSchema = z
  .discriminatedUnion('kind', [firstLine, ...otherLines])
  .meta({ id: 'BatchLine', description: 'One record of a batch.' });

const count = z.int().min(0);
const { error, code, details, retryAfter } = errorSchema.shape;

/** The result of a line. */
export const batchResultSchema = z
  .object({
    line: z.int().min(1).meta({ description: 'Number of the line, starting at 1' }),
    kind: kind.nullable().meta({ description: 'As sent; `null` if it is not a kind' }),
    id: z.string().nullable().meta({ description: 'Id of the record, as sent; `null` if it is not valid' }),
    status: z.int().meta({ description: 'The status that a single request would have had', examples: [200] }),
    outcome: z.enum(outcomes).optional().meta({ description: 'With status 200' }),
    version: versionNumber.optional().meta({ description: 'With status 200; with 412, the current version' }),
    warnings: z.array(fieldMessageSchema).optional().meta({ description: 'With status 200' }),
    dry_run: alwaysTrue('nothing was written').optional(),
    changed_fields: z
      .array(z.string())
      .optional()
      .meta({ description: 'For a dry run: fields that would change' }),
    error: error.optional(),
    code: code.optional(),
    details,
    retryable: z
      .boolean()
      .optional()
      .meta({ description: 'With an error: whether the same line may be accepted later' }),
    retryAfter: retryAfter.unwrap().optional().meta({ description: 'Seconds until it may be accepted' }),
    shortened: alwaysTrue(
      '`warnings`, `changed_fields` or `details` were omitted because too many results were waiting to be sent',
    ).optional(),
  })
  .meta({ id: 'BatchResult', description: 'The result of one line of a batch.' });

/** The results of all lines. */
export const batchSummarySchema = z
  .object({
    summary: z.object({
      lines: count.meta({ description: 'Lines sent' }),
      accepted: count.meta({ description: 'Lines whose records are stored' }),
      created: count,
      updated: count,
      unchanged: count.meta({ description: 'Known only for a dry run and with `unchanged=skip`' }),
      refused: count.meta({ description: 'Lines that were not stored' }),
      retryable: count.meta({ description: 'Refused lines that may be accepted later' }),
      codes: z
        .partialRecord(z.enum(Object.keys(statusOf) as [ErrorCode, ...ErrorCode[]]), count)
        .meta({ description: 'Refused lines by `code`' }),
    }),
  })
  .meta({
    id: 'BatchSummary',
    description: 'The last line of the response to a batch. If it is missing, the response was cut off.',
  });

/** The minimal records of the first kinds, in an order in which none could be stored on its own. */
export const exampleLines = catalog
  .slice(0, 2)
  .toReversed()
  .map((entry) => {
    const required = Object.entries(entry.schema.shape as Record<string, z.ZodType>)
      .filter(([, field]) => !field.safeParse(undefined).success)
      .map(([name, field]) => [name, exampleOf(field)]);
    return { kind: entry.kind, record: Object.fromEntries(required) };
  });

export const exampleAnswer = [
  ...exampleLines.map(({ kind, record }, index) => ({
    line: index + 1,
    kind,
    id: record.id,
    status: 200,
    outcome: 'created',
    version: 1,
    warnings: [],
  })),
  {
    summary: {
      ...{ lines: exampleLines.length, accepted: exampleLines.length, created: exampleLines.length },
      ...{ updated: 0, unchanged: 0, refused: 0, retryable: 0, codes: {} },
    },
  },
];
