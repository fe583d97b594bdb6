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
  access: Endpoint['access'];
  /** The answer with status 200. */
  ok: Required<Pick<ResponseConfig, 'description' | 'content'>> & { headers?: HeaderName[] };
  /** What can go wrong, beside what every operation of its access shares. */
  errors?: ErrorResponseName[];
  /** Other answers. */
  responses?: RouteConfig['responses'];
}

function needs(access: Endpoint['access']): string {
  if (access === 'public') return 'Needs no API key.';
  if (access === 'key') return 'Needs an API key of any permission.';
  const named = [access].flat().map((permission) => `\`${permission}\``);
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
  const { tag, access, ok, errors = [], responses, description, ...rest } = operation;
  const isPublic = access === 'public';
  const headers: HeaderName[] = [
    'Request-Id',
    ...(ok.headers ?? []),
    ...(isPublic ? [] : (['RateLimit-Policy', 'RateLimit'] as const)),
  ];
  registry.registerPath({
    ...rest,
    tags: [tag],
    description: `${description}\n\n${needs(access)}`,
    'x-permission': access,
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
