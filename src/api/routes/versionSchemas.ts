import { z } from 'zod';
import { principal, timestamp, versionNumber } from '../schemas/answerSchemas.ts';

/** What every version reports. */
export const versionEntrySchema = z.object({
  version: versionNumber,
  event_id: z.uuid().meta({ description: 'Id of the event in the event log' }),
  type: z.string().meta({ description: 'Type of the event' }),
  recorded_at: timestamp('When the version was stored'),
  principal: principal('Who sent it'),
  client_ip: z.string().nullable().meta({ description: 'The client IP address that it was sent from' }),
  user_agent: z.string().nullable(),
  request_id: z.uuid().meta({ description: 'The `Request-Id` of the write' }),
  source: z
    .object({
      id: z.string().meta({ description: 'Id of the source' }),
      message: z.uuid().meta({ description: 'Id of the message, which is kept for a limited time' }),
      configuration: z
        .int()
        .optional()
        .meta({
          description:
            'Number of the source configuration that the message was reprocessed with; omitted if it was ' +
            'processed on arrival',
        }),
    })
    .optional()
    .meta({ description: 'The EMR message that it came from; omitted if it came in another way' }),
  reason: z
    .string()
    .optional()
    .meta({ description: 'Only for an erasure: why all versions before it were erased' }),
});

/** The sender of the versions in examples. */
export const exampleSender = {
  principal: { type: 'api_key', id: 'key_4fTq9LmZs2Xw8RbC', name: 'EMR nightly sync' },
  client_ip: '203.0.113.7',
  user_agent: 'emr-sync/2.4',
};

/** The `Request-Id` of the write before that of `exampleRequestId`. */
export const exampleFirstRequestId = '019cebb0-9d1f-7b52-8e60-3a9c41d7f215';
