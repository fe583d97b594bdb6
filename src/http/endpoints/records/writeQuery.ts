import { z } from 'zod';
import type { WriteOptions } from '../../../commands/upsertRecord.ts';
import { unchangedChoices } from '../../../events/unchangedChoice.ts';
import { validate } from '../../../records/validate.ts';
import type { Exchange } from '../../server/exchange.ts';
import { writeCondition } from '../parameters.ts';

/** `true` or `false` in a query. */
function truth() {
  return z.preprocess(
    (sent) => (sent === 'true' ? true : sent === 'false' ? false : sent),
    z.boolean({ error: 'must be true or false' }),
  );
}

/** Query of a write of a record. */
export const writeQuerySchema = z.object({
  dry_run: truth()
    .default(false)
    .meta({
      description:
        '`true`: nothing is written; the answer is the one that the write would get now, with `dry_run` and `changed_fields`',
      examples: [true],
    }),
  unchanged: z
    .enum(unchangedChoices)
    .optional()
    .meta({
      description:
        '`skip`: a record whose every sent field is so already gets no new version; the answer is `unchanged`, with its present version. `append`: it gets one. Default: what is set for the workspace, else `append`',
      examples: ['skip'],
    }),
});

/** What a request asks of the write of a record. Throws `validation_failed`. */
export function writeOptions({ req, found }: Exchange): WriteOptions {
  const condition = writeCondition(req);
  const byDefault = found?.workspace.unchanged ?? 'append';
  // Most requests have no query, and are found without the router, which would have parsed it.
  if (!req.url.includes('?')) return { condition, unchanged: byDefault };
  const { dry_run: dryRun, unchanged = byDefault } = validate(writeQuerySchema, req.query);
  return { condition, dryRun, unchanged };
}
