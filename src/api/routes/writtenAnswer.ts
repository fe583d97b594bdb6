import { z } from 'zod';
import type { CatalogEntry } from '../../domain/records/catalog.ts';
import { outcomes } from '../../domain/records/judgeChange.ts';
import type { WriteOptions, Written } from '../../modules/records/commands/upsertRecord.ts';
import { fieldMessageSchema, versionNumber } from '../schemas/answerSchemas.ts';

/** The body of the response to a write of a record. */
export const writtenSchema = z
  .object({
    success: z.literal(true),
    message: z.string(),
    version: versionNumber,
    outcome: z.enum(outcomes).meta({
      description:
        '`unchanged` is reported only where the record is compared: in a dry run, with `unchanged=skip`, ' +
        'and for a patch',
    }),
    warnings: z.array(fieldMessageSchema).meta({
      description:
        'Fields that were not stored, values that were stored but that billing may refuse, and anything ' +
        'else that prevents billing a completed encounter, as known at that moment',
    }),
    dry_run: z.literal(true).optional().meta({ description: 'Nothing was written' }),
    changed_fields: z
      .array(z.string())
      .optional()
      .meta({
        description:
          'For a dry run: names of the fields whose values would change; insurance fields use dot notation',
        examples: [['city', 'primary_insurance.policy_number']],
      }),
  })
  .meta({ id: 'Written', description: 'A record was stored, or was already up to date.' });

/** Returns the response to a write. */
export function writtenAnswer({ title }: CatalogEntry, { dryRun }: WriteOptions, written: Written) {
  const { version, outcome, warnings, changedFields = [] } = written;
  const body = {
    success: true,
    message: `${title} ${dryRun ? 'would be ' : ''}${outcome}`,
    version,
    outcome,
    warnings,
    ...(dryRun && { dry_run: true as const, changed_fields: changedFields }),
  } as const;
  return { headers: { ETag: `"${version}"` }, body };
}
