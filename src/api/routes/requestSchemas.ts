import { z } from 'zod';
import { subjectKinds } from '../../domain/records/eventSubject.ts';
import type { RefusedRequest } from '../../modules/audit/requestLog.ts';
import { type ErrorCode, errorMeanings } from '../../platform/errors.ts';
import { pageOf, timestamp } from '../schemas/answerSchemas.ts';
import { exampleRequestId } from '../schemas/examples.ts';
import { statusOf } from '../server/errorAnswer.ts';
import { UNKNOWN_FIELD } from '../server/failingFields.ts';

export const errorCodes = Object.keys(errorMeanings) as [ErrorCode, ...ErrorCode[]];

const counts = z.record(z.string(), z.int().min(1));

/** A refused request. */
export const refusedRequestSchema = z
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
        'Names of the fields, parameters and headers at fault, in dot notation if nested, at most 20; ' +
        `\`${UNKNOWN_FIELD}\` stands for names that the API does not know. Never contains the values ` +
        'sent. Empty if no field was at fault',
      examples: [['last_name', 'primary_insurance.payer_id']],
    }),
    lines: z
      .object({
        sent: z.int().min(1).meta({ description: 'Number of lines in the batch' }),
        refused: counts.meta({ description: 'Refused lines, by `code`' }),
        fields: counts.meta({
          description: 'Lines with a field at fault, by field name: the 20 most frequent',
        }),
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

export const refusedRequestPageSchema = pageOf(refusedRequestSchema).meta({
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
    lines: lines ? { fields: {}, ...lines } : null,
    kind: entry.kind ?? null,
    record_id: entry.id ?? null,
    document_id: entry.documentId ?? null,
    client_ip: entry.clientIp ?? null,
    user_agent: entry.userAgent ?? null,
    client_request_id: entry.clientRequestId ?? null,
    traceparent: entry.traceparent ?? null,
  };
}

export const refusedRequestExample: RefusedRequestView = {
  id: exampleRequestId,
  refused_at: '2026-03-14T09:30:00.000Z',
  method: 'POST',
  route: '/integration/patients',
  status: 400,
  code: 'validation_failed',
  fields: ['last_name', 'primary_insurance.payer_id'],
  lines: null,
  kind: 'patient',
  record_id: 'patient-1001',
  document_id: null,
  client_ip: '203.0.113.7',
  user_agent: 'emr-connector/4.2',
  client_request_id: null,
  traceparent: null,
};
