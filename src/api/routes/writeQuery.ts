import { z } from 'zod';
import { unchangedChoices } from '../../domain/events/unchangedChoice.ts';
import { validate } from '../../domain/records/schema/validate.ts';
import type { WriteOptions } from '../../modules/records/commands/upsertRecord.ts';
import { wholeNumber, writeCondition } from '../schemas/parameters.ts';
import type { Exchange } from '../server/exchange.ts';

const MAX_WAIT_SECONDS = 10;

/** Returns the schema of `true` or `false` in a query. */
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
        '`true`: nothing is written; the response is the one that the write would get now, with `dry_run` ' +
        'and `changed_fields`',
      examples: [true],
    }),
  unchanged: z
    .enum(unchangedChoices)
    .optional()
    .meta({
      description:
        '`skip`: if the write would change no field, no new version is created; the outcome is ' +
        '`unchanged`, with the current version. `append`: a new version is created. Default: the setting ' +
        'of the workspace, otherwise `append`',
      examples: ['skip'],
    }),
  wait: wholeNumber(0, MAX_WAIT_SECONDS)
    .default(0)
    .meta({
      description:
        'Seconds, 0 to 10, to wait for referenced records that are missing; after that, the response is ' +
        'as usual',
      examples: [5],
    }),
});

/** Returns a signal that aborts when the client has gone away and no longer waits. */
function hungUp(res: Exchange['res']): AbortSignal {
  const end = new AbortController();
  if (res.destroyed) end.abort();
  res.once('close', () => end.abort());
  return end.signal;
}

/** Returns what a request asks of the write of a record. Throws `validation_failed`. */
export function writeOptions({ req, res, found }: Exchange): WriteOptions {
  const condition = writeCondition(req);
  const byDefault = found?.workspace.unchanged ?? 'append';
  // Most requests have no query, and are found without the router, which would have parsed it.
  if (!req.url.includes('?')) return { condition, unchanged: byDefault };
  const { dry_run: dryRun, unchanged = byDefault, wait } = validate(writeQuerySchema, req.query);
  return {
    ...{ condition, dryRun, unchanged },
    ...(wait > 0 && { wait: { ms: wait * 1_000, signal: hungUp(res) } }),
  };
}
