import { z } from 'zod';
import type { CatalogEntry, FilterField } from '../../domain/records/catalog.ts';
import { type Filter, isFlag } from '../../domain/records/filters.ts';
import { identifier, iso8601, requiredDate } from '../../domain/records/schema/fields.ts';
import { instantOf } from '../../domain/records/schema/instantOf.ts';
import { validate } from '../../domain/records/schema/validate.ts';
import { parsePosition, requirePlace } from '../../modules/eventStream/position.ts';
import { startAt } from '../../modules/eventStream/startAt.ts';
import type { QueryPorts } from '../../modules/records/queries/readRecord.ts';
import {
  type RecordsRequest,
  type RecordsSelection,
  recordsSorts,
} from '../../modules/records/queries/recordsPage.ts';
import { pageQuerySchema, withPlus } from '../schemas/parameters.ts';
import type { Exchange } from '../server/exchange.ts';

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
  .refine((text) => parsePosition(text) !== undefined || iso8601.test(text), {
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
          .meta({ description, examples: ['true'] }),
      ],
    ];
  }
  const [example] = ((entry.schema.shape[field] as z.ZodType).meta()?.examples ?? []) as string[];
  return [[field, identifier(`Only records with this \`${field}\``, example as string).optional()]];
}

/** Returns the query schema of a kind's list: the parameters of any list, and those of its filters. */
export function recordsQuerySchema(entry: CatalogEntry) {
  const filters = entry.filters.flatMap((filter) => parametersOf(entry, filter));
  return pageQuerySchema.extend({
    sort: sortSchema,
    updated_since: sinceSchema,
    ...(Object.fromEntries(filters) as Record<string, z.ZodOptional<z.ZodType<string>>>),
  });
}

/**
 * Resolves with which records a request asks for, and how it asked. Rejects with `validation_failed` and
 * `unavailable`.
 */
export async function requestedRecords(
  ports: QueryPorts,
  { req }: { req: Pick<Exchange['req'], 'query'> },
  entry: CatalogEntry,
  schema: ReturnType<typeof recordsQuerySchema>,
): Promise<{ request: RecordsRequest; asked: Record<string, unknown> }> {
  const dates = ['updated_since', ...entry.filters.flatMap(datesOf)];
  const query = validate(schema, withPlus(req, ...dates));
  const { limit, page_token: pageToken, ...asked } = query;
  const { sort, updated_since } = query;
  const filters = entry.filters.flatMap((filter) => filterOf(entry, filter, asked));
  const since = updated_since === undefined ? undefined : await sinceOf(ports, updated_since);
  return { request: { limit, pageToken, sort, filters, since }, asked: { limit, pageToken, ...asked } };
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
