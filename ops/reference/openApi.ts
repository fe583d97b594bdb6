import { openapiDocument } from '../../src/api/routes/index.ts';

interface Operation {
  summary: string;
  /** One permission or several, `key` for a key with any permission, `public` for none. */
  'x-permission': string | string[];
}

interface DocumentedResponse {
  content?: Record<string, { examples?: Record<string, { value: { code: string; error: string } }> }>;
}

/** What the reference uses of the OpenAPI document. */
interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
  components: { responses: Record<string, DocumentedResponse> };
}

export const openApi = openapiDocument(false) as OpenApi;
