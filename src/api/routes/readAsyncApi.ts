import { z } from 'zod';
import { buildAsyncapi } from '../../modules/eventStream/buildAsyncapi.ts';
import { version } from '../../platform/version.ts';
import { descriptionAccess } from '../schemas/descriptionAccess.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { cacheable, cacheHeaders, ifNoneMatch, notModified, type Tagged, tagged } from './cacheable.ts';

const asyncapiSchema = z
  .looseObject({
    asyncapi: z.literal('3.0.0'),
    info: z.looseObject({ title: z.string(), version: z.string() }),
    channels: z.looseObject({}),
    operations: z.looseObject({}),
    components: z.looseObject({}),
  })
  .meta({ id: 'AsyncApi', description: 'The event catalog.' });

type AsyncApi = z.output<typeof asyncapiSchema>;

/** `GET /asyncapi/json`: the catalogue of events; needs a key, unless the descriptions are public. */
export function readAsyncApi(openapiPublic: boolean) {
  return endpoint({
    method: 'get',
    path: '/asyncapi/json',
    operationId: 'getAsyncApi',
    summary: 'Read the event catalog',
    description: 'Every event of `GET /events` in both views, as an AsyncAPI 3.0.0 document.',
    tag: 'Events',
    ...descriptionAccess(openapiPublic),
    headers: ifNoneMatch,
    answers: {
      200: {
        description: 'The document.',
        headers: cacheHeaders,
        schema: asyncapiSchema,
        example: {
          asyncapi: '3.0.0',
          info: { title: 'Chartledger events', version: '1.0.0' },
          channels: {},
          operations: {},
          components: {},
        },
      },
      304: notModified,
    },
    handler() {
      let document: Tagged<AsyncApi> | undefined;
      return async (exchange) => {
        document ??= tagged(buildAsyncapi(version) as AsyncApi);
        return cacheable(exchange, document, openapiPublic ? 'public' : 'private');
      };
    },
  });
}
