import type { OpenAPIRegistry, ResponseConfig, RouteConfig } from '@asteasolutions/zod-to-openapi';
import type { Endpoint } from '../server/endpoint.ts';
import { type ErrorResponseName, errorRefs } from './errorResponses.ts';
import { type HeaderName, headerRefs } from './headers.ts';

/** One operation of the document. */
export interface Operation extends Pick<RouteConfig, 'method' | 'path' | 'request'> {
  operationId: string;
  summary: string;
  description: string;
  tag: string;
  permission: Endpoint['permission'];
  /** The answer with status 200. */
  ok: Required<Pick<ResponseConfig, 'description' | 'content'>> & { headers?: HeaderName[] };
  /** What can go wrong, beside what every operation of its permission shares. */
  errors?: ErrorResponseName[];
  /** Other answers. */
  responses?: RouteConfig['responses'];
}

function needs(permission: Endpoint['permission']): string {
  if (permission === 'public') return 'Needs no API key.';
  if (permission === 'key') return 'Needs an API key of any permission.';
  const named = [permission].flat().map((permission) => `\`${permission}\``);
  return `Needs the permission ${named.join(' or ')}.`;
}

const keyErrors: ErrorResponseName[] = [
  'Unauthorized',
  'Forbidden',
  'RateLimited',
  'InternalError',
  'Unavailable',
];

/** Adds an operation to the document. */
export function registerOperation(registry: OpenAPIRegistry, operation: Operation): void {
  const { tag, permission, ok, errors = [], responses, description, ...rest } = operation;
  const isPublic = permission === 'public';
  const headers: HeaderName[] = [
    'Request-Id',
    ...(ok.headers ?? []),
    ...(isPublic ? [] : (['RateLimit-Policy', 'RateLimit'] as const)),
  ];
  registry.registerPath({
    ...rest,
    tags: [tag],
    description: `${description}\n\n${needs(permission)}`,
    'x-permission': permission,
    ...(isPublic && { security: [] }),
    responses: {
      200: { ...ok, headers: headerRefs(...headers) },
      ...errorRefs([
        ...(isPublic ? errors : (['InvalidParameter', ...errors, ...keyErrors] as const)),
        ...(rest.request?.body ? (['TooSlow', 'ExpectationFailed'] as const) : []),
        'HeadersTooLarge',
      ]),
      ...responses,
    },
  });
}
