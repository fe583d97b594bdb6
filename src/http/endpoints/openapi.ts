import { buildDocument } from '../document/buildDocument.ts';
import type { Endpoint } from '../server/endpoint.ts';

/** `GET /openapi/json` (spec 4.8): needs a key, unless it is public. */
export function openapiEndpoint(openapiPublic: boolean, publicUrl: string | undefined): Endpoint {
  const body = buildDocument(openapiPublic, publicUrl);
  return {
    route: '/openapi/json',
    permission: openapiPublic ? 'public' : 'key',
    handle: async () => ({ body }),
  };
}
