import { z } from 'zod';
import { catalog } from '../../domain/records/catalog.ts';
import { identifier } from '../../domain/records/schema/fields.ts';
import { exactObject } from '../../domain/records/schema/validation.ts';
import { reconcileOutcomes } from '../../modules/records/queries/reconcile.ts';
import { errorSchema, versionNumber } from './records.ts';

const kinds = catalog.map((entry) => entry.kind);
const kind = z.enum(kinds);

/** A line of a reconciliation: what the caller knows of a record. */
export const reconcileLineSchema = exactObject({
  kind,
  id: identifier('Id of the record; may be left out with `record`', 'patient-1001').optional(),
  version: versionNumber.optional().meta({ description: 'The version that the caller has' }),
  digest: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/, 'must be a SHA-256 in hexadecimal')
    .optional()
    .meta({ description: 'SHA-256 of the canonical JSON (RFC 8785) of its fields, in hexadecimal' }),
  record: z.looseObject({}).optional().meta({ description: 'All of its fields' }),
}).meta({
  id: 'ReconcileLine',
  description:
    'What the caller knows of one record: with neither version, digest nor record, that it exists.',
});

const outcome = z.enum([...reconcileOutcomes, 'refused']);
const count = z.int().min(0);
const { error, code, details } = errorSchema.shape;

/** The result of a line, or a record that no line named. */
export const reconcileResultSchema = z
  .object({
    line: z
      .int()
      .min(1)
      .optional()
      .meta({ description: 'Number of the line, starting at 1; absent with `missing_there`' }),
    kind: kind.nullable().meta({ description: 'As sent; `null` if it is not a kind' }),
    id: z.string().nullable().meta({ description: 'As sent; `null` if it is not valid' }),
    outcome: outcome.meta({
      description:
        '`same`: everything that was sent is as it is here. `different`: something is not. `missing_here`: there is no such record. ' +
        '`missing_there`: no line named this record. `merged`: it differs, and it is a patient that was merged into another. ' +
        '`erased`: it was erased. `unreadable`: it has an event that only a newer version of the service can read. ' +
        '`refused`: the line is not valid, or the key may not read records of its kind.',
    }),
    version: versionNumber.optional().meta({ description: 'The current version here' }),
    different_fields: z.array(z.string()).optional().meta({
      description: 'For a line with `record`: names of the fields that differ, those of an insurance dotted',
    }),
    merged_into: z.string().optional().meta({ description: 'The patient into which this one was merged' }),
    erased_at: z.string().optional().meta({ description: 'When it was erased' }),
    error: error.optional(),
    code: code.optional(),
    details,
  })
  .meta({ id: 'ReconcileResult', description: 'What became of the comparison of one record.' });

/** The counts at the end. */
export const reconcileSummarySchema = z
  .object({
    summary: z.object({
      lines: count.meta({ description: 'Lines sent' }),
      same: count,
      different: count,
      missing_here: count,
      merged: count,
      erased: count,
      unreadable: count,
      refused: count,
      missing_there: count.nullable().optional().meta({
        description: 'Only if they were requested; `null` if there were too many lines to find them',
      }),
    }),
  })
  .meta({
    id: 'ReconcileSummary',
    description:
      'The last line of the response to a reconciliation. If it is missing, the response was cut off.',
  });

/** Query of a reconciliation. */
export const reconcileQuerySchema = z.object({
  missing_there: z
    .string()
    .optional()
    .meta({
      description: 'Kinds, separated by commas, whose records that no line names are listed at the end',
      examples: ['patient,encounter'],
    }),
  same: z
    .enum(['list', 'omit'])
    .default('list')
    .meta({
      description: 'Whether records that are the same are listed, or only counted',
      examples: ['list'],
    }),
});

export const exampleReconcileLines = [
  { kind: 'payer', id: 'payer-aetna', version: 1 },
  { kind: 'payer', record: { id: 'payer-cigna', name: 'Cigna' } },
];

export const exampleReconcileAnswer = [
  { line: 1, kind: 'payer', id: 'payer-aetna', outcome: 'different', version: 2 },
  { line: 2, kind: 'payer', id: 'payer-cigna', outcome: 'missing_here' },
  {
    summary: {
      ...{ lines: 2, same: 0, different: 1, missing_here: 1 },
      ...{ merged: 0, erased: 0, unreadable: 0, refused: 0 },
    },
  },
];
