import openapiTS, { astToString, COMMENT_HEADER } from 'openapi-typescript';

/** TypeScript types of an OpenAPI document. */
export async function openapiTypes(document: object): Promise<string> {
  return COMMENT_HEADER + astToString(await openapiTS(document as Parameters<typeof openapiTS>[0]));
}
