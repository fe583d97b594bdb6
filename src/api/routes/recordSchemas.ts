import { z } from 'zod';
import { unchangedChoices } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { outcomes } from '../../domain/records/fold.ts';
import { identifier, requiredDate } from '../../domain/records/schema/fields.ts';
import { instantOf, storedDate } from '../../domain/records/schema/isoDates.ts';
import type { CatalogEntry, FilterField } from '../../domain/records/schema/kind.ts';
import { validate } from '../../domain/records/schema/validation.ts';
import { type Filter, isFlag } from '../../domain/records/searchIndex.ts';
import type { AccessTally } from '../../modules/audit/accessIndex.ts';
import { parsePosition, requirePlace, startAt } from '../../modules/eventStream/position.ts';
import type { WriteOptions, WritePorts, Written } from '../../modules/records/commands/upsert.ts';
import {
  consistencies,
  type RecordsRequest,
  type RecordsSelection,
  recordsSorts,
} from '../../modules/records/queries/lists.ts';
import type { QueryPorts } from '../../modules/records/queries/records.ts';
import {
  asOfQuerySchema,
  pageQuerySchema,
  requestedAsOf,
  wholeNumber,
  withPlus,
  writeCondition,
} from '../schemas/parameters.ts';
import { alwaysTrue, fieldMessageSchema, versionNumber } from '../schemas/records.ts';
import { type IdempotencyPorts, idempotencyKey, withIdempotency } from '../server/idempotency.ts';
import { callerOf, type RequestContext } from '../server/requestContext.ts';

const sortSchema = z
  .enum(recordsSorts)
  .optional()
  .meta({
    description:
      'Default `created_at`: in the order of creation. `-updated_at`: most recently sent first; `limit` ' +
      'and `page_token` then follow the last change',
    examples: ['-updated_at'],
  });

const sinceSchema = z
  .string({ error: 'must be sent once' })
  .refine((text) => parsePosition(text) !== undefined || storedDate(text) !== undefined, {
    error: 'must be a position of the event stream, or an ISO 8601 date or date-time',
  })
  .optional()
  .meta({
    description:
      'Only records that were sent after this position of the event stream (`Chartledger-Position`), or ' +
      'at or after this time (ISO 8601). A plain date means its first moment; a time without an offset is ' +
      'UTC',
    examples: ['0000000000008135'],
  });

const consistencySchema = z
  .enum(consistencies)
  .optional()
  .meta({
    description:
      'Default `strong`: the list includes every write that was answered before the request; while it is not up to date, ' +
      'the response is 503. `eventual`: the list as it is, without waiting; it includes every write up to ' +
      '`Chartledger-Position`, and may lack later ones and still show what was erased since',
    examples: ['eventual'],
  });

const bounds = { from: 'on or after', to: 'on or before' } as const;

function parametersOf(entry: CatalogEntry, { field, by }: FilterField): [string, z.ZodType][] {
  const title = field.replaceAll('_', ' ');
  if (by === 'range') {
    const described = (words: string) =>
      `Only records with a ${title} ${words} this. A plain date is compared with the date as it was sent; ` +
      'a date-time without an offset is UTC';
    return (['from', 'to'] as const).map((bound) => [
      `${field}_${bound}`,
      requiredDate('2026-03-14', described(bounds[bound])).optional(),
    ]);
  }
  if (isFlag(entry, field)) {
    const description =
      `\`true\`: only records with \`${field}\`; \`false\`: only records without it, including those where ` +
      'it was never sent';
    return [
      [
        field,
        z
          .enum(['true', 'false'])
          .optional()
          .meta({ type: 'boolean', description, examples: [true] }),
      ],
    ];
  }
  const [example] = ((entry.schema.shape[field] as z.ZodType).meta()?.examples ?? []) as string[];
  return [[field, identifier(`Only records with this \`${field}\``, example as string).optional()]];
}

/** Returns the query schema of a kind's list: the parameters of any list, and those of its filters. */
export function recordsQuerySchema(entry: CatalogEntry) {
  const filters = entry.filters.flatMap((filter) => parametersOf(entry, filter));
  return pageQuerySchema.extend(asOfQuerySchema.shape).extend({
    sort: sortSchema,
    updated_since: sinceSchema,
    consistency: consistencySchema,
    ...(Object.fromEntries(filters) as Record<string, z.ZodOptional<z.ZodType<string>>>),
  });
}

/**
 * Resolves with which records a request asks for, and how it asked. Rejects with `validation_failed` and
 * `unavailable`.
 */
export async function requestedRecords(
  ports: QueryPorts,
  { req }: { req: Pick<RequestContext['req'], 'query'> },
  entry: CatalogEntry,
  schema: ReturnType<typeof recordsQuerySchema>,
): Promise<{ request: RecordsRequest; asked: Record<string, unknown> }> {
  const dates = ['as_of', 'updated_since', ...entry.filters.flatMap(datesOf)];
  const query = validate(schema, withPlus(req, ...dates));
  const { limit, page_token: pageToken, ...asked } = query;
  const { sort, updated_since, consistency } = query;
  const asOf = requestedAsOf(query.as_of, {
    updated_since,
    'sort=-updated_at': sort === '-updated_at' ? sort : undefined,
    'consistency=eventual': consistency === 'eventual' ? consistency : undefined,
  });
  const filters = entry.filters.flatMap((filter) => filterOf(entry, filter, asked));
  const since = updated_since === undefined ? undefined : await sinceOf(ports, updated_since);
  return {
    request: { limit, pageToken, sort, filters, since, consistency, asOf },
    asked: { limit, pageToken, ...asked },
  };
}

function datesOf({ field, by }: FilterField): string[] {
  return by === 'range' ? [`${field}_from`, `${field}_to`] : [];
}

function filterOf(
  entry: CatalogEntry,
  { field, by }: FilterField,
  asked: Record<string, string | undefined>,
): Filter[] {
  if (by === 'range') {
    const [from, to] = [asked[`${field}_from`], asked[`${field}_to`]];
    return from === undefined && to === undefined ? [] : [{ field, from, to }];
  }
  const value = asked[field];
  if (value === undefined) return [];
  return [{ field, value: isFlag(entry, field) ? value === 'true' : value }];
}

async function sinceOf(
  { eventLog, readModels }: QueryPorts,
  text: string,
): Promise<RecordsSelection['since']> {
  const after = parsePosition(text);
  if (after !== undefined) {
    await requirePlace(eventLog, after, 'updated_since');
    return { after };
  }
  const time = instantOf(text);
  return { after: await startAt(readModels, time), time };
}

export interface RecordWritePorts extends WritePorts, IdempotencyPorts {
  tally: AccessTally;
}

/**
 * Writes a record, once for each `Idempotency-Key`; a dry run needs none. What leaves no event of its own is counted
 * for the audit trail. Rejects as `write` and `once` do.
 */
export async function writeOnce(
  ports: RecordWritePorts,
  context: RequestContext,
  { dryRun }: WriteOptions,
  write: (caller: Caller) => Promise<Written>,
): Promise<Written> {
  const key = dryRun ? undefined : idempotencyKey(context.req);
  const caller = callerOf(context);
  const written = await (key === undefined
    ? write(caller)
    : withIdempotency(ports, context, key, context.input, write));
  if (dryRun) ports.tally.add(caller, 'record.dry_run');
  else if (written.isSkipped) ports.tally.add(caller, 'record.unchanged');
  return written;
}

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
function hungUp(res: RequestContext['res']): AbortSignal {
  const end = new AbortController();
  if (res.destroyed) end.abort();
  res.once('close', () => end.abort());
  return end.signal;
}

/** Returns what a request asks of the write of a record. Throws `validation_failed`. */
export function writeOptions({ req, res, found }: RequestContext): WriteOptions {
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

/** The body of the response to a write of a record. */
export const writtenSchema = z
  .object({
    success: alwaysTrue(),
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
    dry_run: alwaysTrue('nothing was written').optional(),
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
