import { z } from 'zod';
import { requiredDate } from '../../domain/records/schema/fields.ts';
import { instantOf } from '../../domain/records/schema/instantOf.ts';
import type { RequestFilter } from '../../modules/audit/requestLog.ts';
import { wholeNumber } from '../schemas/parameters.ts';
import { errorCodes } from './requestSchemas.ts';

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
