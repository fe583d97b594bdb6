import { Readable } from 'node:stream';
import { z } from 'zod';
import { catalog, catalogEntry } from '../../domain/records/catalog.ts';
import { exactObject, validate, validationError } from '../../domain/records/schema/validation.ts';
import { causesAccesses } from '../../modules/audit/accesses.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { problemsOf } from '../../modules/readiness/answerCommands.ts';
import { answerCause } from '../../modules/readiness/causeAnswers.ts';
import {
  type Cause,
  type CausesPage,
  causeColumns,
  causeGroupings,
  causeLine,
  readAllCauses,
  readCauses,
} from '../../modules/readiness/causes.ts';
import { codesFor } from '../../modules/readiness/rules/codes.ts';
import { ruleOf } from '../../modules/readiness/rules/index.ts';
import { ruleCodesSchema } from '../../modules/readiness/rules/payerRuleData.ts';
import { severities } from '../../modules/readiness/rules/rule.ts';
import type { QueryPorts } from '../../modules/records/queries/records.ts';
import { csvLine } from '../../platform/csv.ts';
import { bytesSchema, endpoint } from '../schemas/endpoint.ts';
import { pageQuerySchema } from '../schemas/parameters.ts';
import { alwaysTrue, pageOf, tagOf } from '../schemas/records.ts';
import { readJson } from '../server/body.ts';
import { type IdempotencyPorts, withOptionalIdempotency } from '../server/idempotency.ts';
import { callerOf } from '../server/requestContext.ts';
import {
  filingSchema,
  filingView,
  ownerSchema,
  progressSchema,
  progressView,
  ruleCode,
  selectionOf,
  worklistFilterSchema,
} from './readiness.ts';
import { answerSchema } from './readinessAnswers.ts';

const entry = catalogEntry('encounter');

const selectionSchema = worklistFilterSchema.extend({
  group_by: z
    .enum(causeGroupings)
    .default('record')
    .meta({
      description:
        'By what the findings of a rule are grouped: `record`, the record at fault; or `payer`, `facility` or ' +
        '`provider` of the encounters, for a matrix',
      examples: ['payer'],
    }),
});
const query = pageQuerySchema.extend(selectionSchema.shape);

const count = z.int().min(0);

const causeSchema = z
  .object({
    rule: ruleCode,
    severity: z.enum(severities).meta({ description: 'Of the most severe of the findings' }),
    owner: ownerSchema,
    title: z.string().meta({ description: 'What the rule requires' }),
    codes: ruleCodesSchema,
    record: z
      .object({ kind: z.enum(catalog.map(({ kind }) => kind)), id: z.string() })
      .nullable()
      .meta({
        description:
          'The record at fault, or what the encounters have in common as `group_by` says; `null` for encounters ' +
          'without one',
      }),
    encounters: count.meta({ description: 'Encounters with the finding' }),
    blocked: count.meta({ description: 'How many of them are blocked, and this is one of the reasons' }),
    oldest_day: z
      .string()
      .nullable()
      .meta({
        description: 'The earliest day of service of these encounters, as it was sent',
        examples: ['2026-05-03'],
      }),
    filing: filingSchema.meta({ description: 'The first filing limit of these encounters; `null` without' }),
    encounter_ids: z.array(z.string()).meta({ description: 'The first of the encounters, at most five' }),
  })
  .meta({ id: 'ReadinessCause', description: 'Findings of one rule with one record in common.' });

const pageSchema = pageOf(causeSchema)
  .extend({
    encounters: count.meta({ description: 'Encounters with at least one of the findings' }),
    is_whole: z.boolean().meta({
      description:
        'Whether every encounter of the selection was counted. `false` if there are more than 100,000: narrow it',
    }),
    progress: progressSchema,
  })
  .meta({ id: 'ReadinessCauses', description: 'What is in the way of encounters, grouped.' });

const example: z.infer<typeof pageSchema> = {
  items: [
    {
      ...{ rule: 'facility_tax_id', severity: 'blocks', owner: 'practice' },
      title: 'The facility has an EIN that the IRS can have given out',
      codes: { status: ['128'], carc: ['16'], rarc: [], box: ['25'] },
      record: { kind: 'facility', id: 'facility-3001' },
      ...{ encounters: 25, blocked: 25, oldest_day: '2026-05-03' },
      filing: { limit: 'P90D', last_day: '2026-08-01', days_left: 9 },
      encounter_ids: ['encounter-4001', 'encounter-4002'],
    },
  ],
  next_page_token: null,
  encounters: 25,
  is_whole: true,
  progress: { is_current: true, under_way: [] },
};

const common = { method: 'get', tag: tagOf(entry), permission: 'read' } as const;

/** `GET /integration/readiness/causes`. */
const readReadinessCauses = endpoint({
  ...common,
  path: '/integration/readiness/causes',
  operationId: 'listReadinessCauses',
  summary: 'List what is in the way of billing, by how much it holds up',
  description:
    'The findings of the worklist, grouped by rule and record: a facility without an EIN is one item, however ' +
    'many encounters it blocks. Those that block most encounters come first, then those that most encounters ' +
    'have, then those with the nearest filing limit. The filters are those of the worklist; with `rule` or ' +
    '`owner`, only their findings are counted. Each page is counted again: a cause that changes its place ' +
    'between two pages may be on both, or on neither.',
  query,
  answers: { 200: { description: 'A page of causes.', schema: pageSchema, example } },
  subject: () => ({ kind: entry.kind }),
  handler: (ports: QueryPorts) => async (context) => {
    const { limit, page_token: pageToken, group_by, ...asked } = validate(query, context.req.query);
    const caller = callerOf(context);
    const page = { limit, pageToken };
    const found = await readCauses(ports, caller.workspace, selectionOf(asked), group_by, page);
    const { items, next_page_token, encounters, isWhole, progress } = found;
    const named = { limit, page_token: pageToken, group_by, ...asked };
    await recordAccess(ports.eventLog, caller, ...causesAccesses(items, named));
    return {
      body: {
        ...{ items: items.map((cause) => causeView(cause, found)), next_page_token, encounters },
        ...{ is_whole: isWhole, progress: progressView(progress) },
      },
    };
  },
});

function causeView(
  cause: Cause,
  { today, settings }: Pick<CausesPage, 'today' | 'settings'>,
): z.infer<typeof causeSchema> {
  const { rule, severity, owner, record = null, encounters, blocked, oldestDay, filing } = cause;
  const found = ruleOf(rule, settings);
  return {
    codes: codesFor(found ?? { code: rule }),
    ...{ rule, severity, owner, title: found?.title ?? rule, record, encounters, blocked },
    oldest_day: oldestDay ?? null,
    filing: filingView(filing, today),
    encounter_ids: cause.encounterIds,
  };
}

/** `GET /integration/readiness/causes.csv`. */
const exportReadinessCauses = endpoint({
  ...common,
  path: '/integration/readiness/causes.csv',
  operationId: 'exportReadinessCauses',
  summary: 'Export what is in the way of billing as CSV',
  description:
    'All causes, as the list of causes has them, in the same order: one line each, below a line with the names ' +
    'of the columns. While the worklist is not current, the response is 503, as a file could not say so.',
  query: selectionSchema,
  answers: { 200: { description: 'The file.', stream: { 'text/csv': { schema: bytesSchema } } } },
  subject: () => ({ kind: entry.kind }),
  handler: (ports: QueryPorts) => async (context) => {
    const asked = validate(selectionSchema, context.req.query);
    const { group_by, ...filters } = asked;
    const caller = callerOf(context);
    const { causes } = await readAllCauses(ports, caller.workspace, selectionOf(filters), group_by);
    const shown = causes.map((cause) => ({ ...cause, encounterIds: cause.encounterIds.slice(0, 1) }));
    const accesses = causesAccesses(shown, { ...asked, format: 'csv' }, 'readiness.export');
    await recordAccess(ports.eventLog, caller, ...accesses);
    return {
      headers: {
        'Content-Type': 'text/csv; charset=utf-8',
        'Content-Disposition': 'attachment; filename="readiness-causes.csv"',
      },
      body: { stream: Readable.from(linesOf(causes)) },
    };
  },
});

function* linesOf(causes: readonly Cause[]): Generator<string> {
  yield csvLine(causeColumns);
  for (const cause of causes) yield causeLine(cause);
}

const MOST_ANSWERED = 500;

const causeAnswerSchema = exactObject({
  ...answerSchema.shape,
  record: answerSchema.shape.record.unwrap().meta({ description: 'The record at fault' }),
  limit: z
    .int({ error: 'must be a whole number' })
    .min(1, { error: 'must be at least 1' })
    .max(MOST_ANSWERED, { error: `must be at most ${MOST_ANSWERED}` })
    .default(MOST_ANSWERED)
    .meta({ description: 'Maximum number of encounters to answer with this request' }),
  page_token: z.string().optional().meta({ description: 'The `next_page_token` of the previous response' }),
}).meta({ id: 'CauseAnswer', description: 'An answer to everything that a rule finds in one record.' });

const answeredSchema = z
  .object({
    success: alwaysTrue(),
    message: z.string(),
    updated: count.meta({ description: 'Encounters for which it was recorded' }),
    unchanged: count.meta({ description: 'Encounters for which the same was recorded before' }),
    gone: count.meta({
      description: 'Encounters of the worklist in which the rule no longer finds it, or that were erased',
    }),
    next_page_token: z
      .string()
      .nullable()
      .meta({ description: 'To continue with the next encounters; `null` after the last' }),
    progress: progressSchema,
  })
  .meta({ id: 'CauseAnswered', description: 'An answer was recorded for encounters of a cause.' });

const answerFilterSchema = worklistFilterSchema.omit({ rule: true });

/** `POST /integration/readiness/causes/answers`. */
const answerReadinessCause = endpoint({
  ...common,
  method: 'post',
  path: '/integration/readiness/causes/answers',
  operationId: 'answerReadinessCause',
  summary: 'Answer a finding in all encounters of a cause',
  description:
    'Records what was decided about what a rule finds in a record, for each encounter that has the finding now, in parts: ' +
    'continue with `next_page_token` until it is `null`. The filters are those of the worklist. Each answer is an event of its ' +
    'encounter, as if the encounters were answered one by one; encounters that come later are not answered. Sending the ' +
    'request again changes nothing.',
  permission: 'write',
  takesIdempotencyKey: true,
  query: answerFilterSchema,
  body: {
    required: true,
    content: {
      'application/json': {
        schema: causeAnswerSchema,
        example: {
          ...{ rule: 'facility_tax_id', record: { kind: 'facility', id: 'facility-3001' }, version: 4 },
          ...{ answer: 'accepted', reason: 'Applied for', until: '2026-06-30', limit: 500 },
        },
      },
    },
  },
  answers: {
    200: {
      description: 'The answers are durably recorded.',
      schema: answeredSchema,
      example: {
        ...{ success: true, message: 'Findings accepted', updated: 25, unchanged: 0, gone: 0 },
        ...{ next_page_token: null, progress: { is_current: true, under_way: [] } },
      },
    },
  },
  errors: ['InvalidAnswer', 'VersionConflict', 'BodyTooLarge', 'NotJson'],
  handler: (ports: QueryPorts & IdempotencyPorts) => async (context) => {
    const filters = validate(answerFilterSchema, context.req.query ?? {});
    const input = await readJson(context);
    const given = validate(causeAnswerSchema, input);
    const problems = problemsOf(given);
    if (problems.length > 0) throw validationError(problems);
    const { limit, page_token: pageToken, ...answer } = given;
    const page = { limit, pageToken };
    const answered = await withOptionalIdempotency(ports, context, input, (caller) =>
      answerCause(ports, caller, selectionOf(filters), answer, page),
    );
    const { updated, unchanged, gone, next_page_token, progress } = answered;
    const message = `Findings ${given.answer}`;
    const counts = { updated, unchanged, gone, next_page_token, progress: progressView(progress) };
    return { body: { success: true, message, ...counts } } as const;
  },
});

/** The endpoints of the causes of findings. */
export const causeEndpoints = [readReadinessCauses, exportReadinessCauses, answerReadinessCause];
