import { z } from 'zod';
import type { RefusedRequest } from '../../../projections/auditTrail.ts';
import type { RefusedLine } from '../../domain/events/payloads.ts';
import { subjectKinds } from '../../domain/records/catalog.ts';
import { type FieldFault, faultCodes } from '../../domain/records/schema/faults.ts';
import { requiredDate } from '../../domain/records/schema/fields.ts';
import { instantOf } from '../../domain/records/schema/isoDates.ts';
import { validate } from '../../domain/records/schema/validation.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { findRefusedRequest, type RequestFilter, readRequestLog } from '../../modules/audit/requestLog.ts';
import { keysOfSender } from '../../modules/auth/apiKeys.ts';
import type { FoundKey, KeyDirectory } from '../../modules/auth/keyDirectory.ts';
import type { QueryPorts } from '../../modules/records/queries/records.ts';
import { type ErrorCode, errorMeanings, notFound } from '../../platform/errors.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { exampleRequestId } from '../schemas/examples.ts';
import { pageQuerySchema, wholeNumber, withPlus } from '../schemas/parameters.ts';
import { pageOf, timestamp } from '../schemas/records.ts';
import { requirePermission } from '../server/admission.ts';
import { statusOf, UNKNOWN_FIELD } from '../server/answer.ts';
import { callerOf } from '../server/requestContext.ts';

const errorCodes = Object.keys(errorMeanings) as [ErrorCode, ...ErrorCode[]];

const counts = z.record(z.string(), z.int().min(1));

const faultSchema = z
  .object({
    field: z.string().meta({ description: 'Its name, as in `fields`', examples: ['last_name'] }),
    code: z.enum(faultCodes).meta({
      description:
        'What is wrong: `required`, `reference_not_found`, `not_a_choice` (none of the possible values), `wrong_type`, `empty`, ' +
        '`wrong_length`, `out_of_range`, `no_date`, `repeated`, `unknown`, or else `invalid`',
      examples: ['required'],
    }),
    kind: z.string().nullable().meta({ description: 'Of a reference: the kind of the missing record' }),
    id: z.string().nullable().meta({ description: 'Of a reference: the id of the missing record' }),
  })
  .meta({ id: 'FieldFault', description: 'What is wrong with a field, without its value.' });

const refusedLineSchema = z
  .object({
    line: z.int().min(1).meta({ description: 'Its number, counted from 1' }),
    kind: z.string().nullable(),
    record_id: z.string().nullable(),
    code: z.enum(errorCodes),
    faults: z.array(faultSchema).meta({ description: 'At most 5' }),
  })
  .meta({ id: 'RefusedLine', description: 'A refused line of a batch.' });

/** A refused request. */
const refusedRequestSchema = z
  .object({
    id: z.string().meta({ description: 'The `Request-Id` of its response', examples: [exampleRequestId] }),
    refused_at: timestamp('When it was refused'),
    method: z.string().meta({ examples: ['POST'] }),
    route: z.string().meta({
      description: 'Its path, with parameter names in place of their values',
      examples: ['/integration/patients/:id'],
    }),
    status: z.int().meta({
      description:
        'The status of its response; 200 for a batch, whose lines have their own; for a message over MLLP, the status for the code below',
      examples: [400],
    }),
    code: z.enum(errorCodes).meta({
      description: 'Why it was refused; for a batch, why most of its lines were refused',
    }),
    fields: z.array(z.string()).meta({
      description:
        'Names of the fields, parameters and headers at fault, in dot notation if nested, at most 20; of a message, the places ' +
        'in it, such as `PID-7` or `Patient.name`; ' +
        `\`${UNKNOWN_FIELD}\` stands for names that the API does not know. Never contains the values ` +
        'sent. Empty if no field was at fault',
      examples: [['last_name', 'primary_insurance.payer_id']],
    }),
    faults: z.array(faultSchema).meta({
      description:
        'What is wrong with each of `fields`; empty for a batch, and for what earlier versions refused',
    }),
    lines: z
      .object({
        sent: z.int().min(1).meta({ description: 'Number of lines in the batch' }),
        refused: counts.meta({ description: 'Refused lines, by `code`' }),
        fields: counts.meta({
          description: 'Lines with a field at fault, by field name: the 20 most frequent',
        }),
        first: z.array(refusedLineSchema).meta({ description: 'The first 10 refused lines' }),
      })
      .nullable()
      .meta({ description: 'For a batch that was accepted but had refused lines; otherwise `null`' }),
    kind: z.enum(subjectKinds).nullable().meta({ description: 'What it was about' }),
    record_id: z
      .string()
      .nullable()
      .meta({
        description:
          'The id of the record, if the request named one that a record can have; for a document, the id of ' +
          'its encounter',
      }),
    document_id: z.string().nullable(),
    client_ip: z.string().nullable().meta({ description: 'The client IP address that it came from' }),
    user_agent: z.string().nullable(),
    client_request_id: z.string().nullable().meta({ description: 'Its `X-Request-Id`' }),
    traceparent: z.string().nullable(),
  })
  .meta({ id: 'RefusedRequest', description: 'A refused request, without any data that it sent.' });

const refusedRequestPageSchema = pageOf(refusedRequestSchema).meta({
  id: 'RefusedRequestPage',
  description: 'A page of refused requests, newest first.',
});

export type RefusedRequestView = z.output<typeof refusedRequestSchema>;

/**
 * Returns a refused request as callers read it. What earlier versions of the service did not keep is derived from the
 * rest.
 */
export function refusedRequestView(entry: RefusedRequest): RefusedRequestView {
  const { lines, fields = Object.keys(lines?.fields ?? {}) } = entry;
  const code = entry.code as ErrorCode;
  return {
    id: entry.requestId ?? entry.eventId,
    refused_at: entry.recordedAt,
    method: entry.method ?? 'POST',
    route: entry.route ?? '/integration/batch',
    status: entry.status ?? statusOf[code],
    code,
    fields,
    faults: (entry.faults ?? []).map(faultView),
    lines: lines ? { fields: {}, ...lines, first: (entry.firstLines ?? []).map(lineView) } : null,
    kind: entry.kind ?? null,
    record_id: entry.id ?? null,
    document_id: entry.documentId ?? null,
    client_ip: entry.clientIp ?? null,
    user_agent: entry.userAgent ?? null,
    client_request_id: entry.clientRequestId ?? null,
    traceparent: entry.traceparent ?? null,
  };
}

function faultView({ field, code, kind, id }: FieldFault): z.output<typeof faultSchema> {
  return { field, code, kind: kind ?? null, id: id ?? null };
}

function lineView({
  line,
  kind,
  record_id,
  code,
  faults = [],
}: RefusedLine): z.output<typeof refusedLineSchema> {
  return {
    ...{ line, kind: kind ?? null, record_id: record_id ?? null },
    ...{ code: code as ErrorCode, faults: faults.map(faultView) },
  };
}

const refusedRequestExample: RefusedRequestView = {
  id: exampleRequestId,
  refused_at: '2026-03-14T09:30:00.000Z',
  method: 'POST',
  route: '/integration/patients',
  status: 400,
  code: 'validation_failed',
  fields: ['last_name', 'primary_insurance.payer_id'],
  faults: [
    { field: 'last_name', code: 'required', kind: null, id: null },
    { field: 'primary_insurance.payer_id', code: 'required', kind: null, id: null },
  ],
  lines: null,
  kind: 'patient',
  record_id: 'patient-1001',
  document_id: null,
  client_ip: '203.0.113.7',
  user_agent: 'emr-connector/4.2',
  client_request_id: null,
  traceparent: null,
};

/** The criteria by which refused requests are searched. */
export const requestFilterSchema = z.object({
  code: z
    .enum(errorCodes)
    .optional()
    .meta({ description: 'Only requests refused for this reason', examples: ['validation_failed'] }),
  status: wholeNumber(200, 499)
    .optional()
    .meta({
      description:
        'Only requests answered with this status: `200` for batches and messages of which a part was refused',
      examples: [400],
    }),
  field: z
    .string({ error: 'must be sent once' })
    .min(1)
    .max(100)
    .optional()
    .meta({ description: 'Only those with this field at fault', examples: ['primary_insurance.payer_id'] }),
  from: requiredDate(
    '2026-03-14T09:00:00Z',
    'Only requests refused at or after this time. A plain date means its first moment; a time without an ' +
      'offset is UTC',
  ).optional(),
  to: requiredDate('2026-03-14T10:00:00Z', 'Only requests refused before this time').optional(),
});

/** Returns the filter that a validated query asks for. */
export function requestFilter({
  code,
  status,
  field,
  from,
  to,
}: z.output<typeof requestFilterSchema>): RequestFilter {
  return {
    ...(code !== undefined && { code }),
    ...(status !== undefined && { status: String(status) }),
    ...(field !== undefined && { field }),
    ...(from !== undefined && { from: new Date(instantOf(from)).toISOString() }),
    ...(to !== undefined && { to: new Date(instantOf(to)).toISOString() }),
  };
}

const query = pageQuerySchema.extend(requestFilterSchema.shape).extend({
  senders: z
    .enum(['own', 'all'])
    .default('own')
    .meta({
      description:
        '`all`: the requests of every key and source of the workspace, with the permission `audit`',
      examples: ['all'],
    }),
});

/** `GET /integration/requests`. */
const listRefusedRequests = endpoint({
  method: 'get',
  path: '/integration/requests',
  operationId: 'listRefusedRequests',
  summary: 'List refused requests',
  description:
    'The refused requests of this key and of the keys that it replaced or that replace it, newest first, including every one that was answered before this ' +
    'request: why each was refused and which fields were at fault, but none of the values sent. With `senders=all`, those of ' +
    'every sender of the workspace, and the read is recorded in the audit trail. Includes ' +
    'batches with refused lines. With filters, a page may have fewer items than `limit`, or none: the ' +
    'list continues as long as there is a `next_page_token`. Requests that were refused before their key ' +
    'was known (401, and 429 by the request limit) and requests that failed because of the service itself ' +
    '(500 and above) are not included.',
  tag: 'Requests',
  permission: ['read', 'audit'],
  query,
  answers: {
    200: {
      description: 'A page of refused requests.',
      schema: refusedRequestPageSchema,
      example: { items: [refusedRequestExample], next_page_token: null },
    },
  },
  handler: (ports: RefusedRequestPorts) => async (context) => {
    const sent = validate(query, withPlus(context.req, 'from', 'to'));
    const { limit, page_token: pageToken, senders, ...asked } = sent;
    if (senders === 'all') requirePermission(context.found as FoundKey, ['audit']);
    const caller = callerOf(context);
    const keys = keysOfSender(ports.directory.known, caller.principal.id);
    const filter = { ...requestFilter(asked), ...(senders === 'own' && { keys }) };
    const page = await readRequestLog(ports, caller.workspace, filter, { limit, pageToken });
    if (senders === 'all')
      await recordAccess(ports.eventLog, caller, {
        action: 'audit.read',
        query: { ...asked, senders, outcome: 'refused' },
      });
    return { body: { ...page, items: page.items.map(refusedRequestView) } };
  },
});

interface RefusedRequestPorts extends QueryPorts {
  directory: Pick<KeyDirectory, 'known'>;
}

/** `GET /integration/requests/{id}`. */
const readRefusedRequest = endpoint({
  method: 'get',
  path: '/integration/requests/{id}',
  operationId: 'getRefusedRequest',
  summary: 'Find out why a request was refused',
  description:
    'A refused request of this key, or of a key that it replaced or that replaces it, by the `requestId` of its error, which is also the header ' +
    '`Request-Id`: why it was refused, and which fields were at fault. Requests of other keys and ' +
    'accepted requests are not found.',
  tag: 'Requests',
  permission: 'read',
  params: z.object({
    id: z.string().meta({ description: 'The `Request-Id` of its response', examples: [exampleRequestId] }),
  }),
  answers: {
    200: { description: 'The request.', schema: refusedRequestSchema, example: refusedRequestExample },
  },
  errors: ['RequestNotFound'],
  handler: (ports: RefusedRequestPorts) => async (context) => {
    const { workspace, principal } = callerOf(context);
    const found = await findRefusedRequest(ports, workspace, String(context.req.params.id));
    const keys = keysOfSender(ports.directory.known, principal.id);
    if (found === undefined || !keys.includes(found.principal.id)) throw notFound('Refused request');
    return { body: refusedRequestView(found) };
  },
});

/** The endpoints of the request log. */
export const requestEndpoints = [listRefusedRequests, readRefusedRequest];
