import { z } from 'zod';
import { descriptionAccess } from '../schemas/descriptionAccess.ts';
import { endpoint } from '../schemas/endpoint.ts';

const descriptionSchema = z
  .looseObject({
    openapi: z.literal('3.1.0'),
    info: z.looseObject({ title: z.string(), version: z.string() }),
    paths: z.looseObject({}),
  })
  .meta({ id: 'OpenApi', description: 'This document.' });

export interface OpenApiPorts {
  /** Returns the description of the interface. */
  describe(): object;
}

/** `GET /openapi/json` (spec 4.8): needs a key, unless it is public. */
export function readOpenApi(openapiPublic: boolean) {
  return endpoint({
    method: 'get',
    path: '/openapi/json',
    operationId: 'getOpenApi',
    summary: 'Read the OpenAPI document',
    description: openapiPublic
      ? 'The OpenAPI 3.1.0 description of this API. This service is configured to show it to everyone.'
      : 'The OpenAPI 3.1.0 description of this API.',
    tag: 'Service',
    ...descriptionAccess(openapiPublic),
    answers: {
      200: {
        description: 'The document.',
        schema: descriptionSchema,
        example: { openapi: '3.1.0', info: { title: 'Chartledger', version: '1.0.0' }, paths: {} },
      },
    },
    handler({ describe }: OpenApiPorts) {
      const body = describe() as z.output<typeof descriptionSchema>;
      return async () => ({ body });
    },
  });
}
