import { z } from 'zod';
import { endpoint } from '../schemas/endpoint.ts';

const healthSchema = z
  .object({ status: z.literal('ok') })
  .meta({ id: 'Health', description: 'The process answers.' });

const healthy = { status: 'ok' } as const;

/** `GET /healthz`: whether the process responds. */
export const readHealth = endpoint({
  method: 'get',
  path: '/healthz',
  operationId: 'getHealth',
  summary: 'Check that the process answers',
  description: 'For liveness probes. Checks nothing but the process itself.',
  tag: 'Service',
  permission: 'public',
  query: 'ignored',
  answers: { 200: { description: 'The process answers.', schema: healthSchema, example: healthy } },
  handler: () => async () => ({ body: healthy }),
});
