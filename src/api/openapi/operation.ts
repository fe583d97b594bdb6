import type { OpenAPIRegistry, ResponseConfig, RouteConfig } from '@asteasolutions/zod-to-openapi';
import type { Answers } from '../schemas/answers.ts';
import type { Endpoint } from '../schemas/endpoint.ts';
import type { ErrorResponseName } from '../schemas/errorResponses.ts';
import { type HeaderName, headerRefs } from '../schemas/headers.ts';
import { idempotencyKeyHeader } from '../schemas/idempotencyKeyHeader.ts';
import { errorRefs } from './errorComponents.ts';

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

const idempotencyErrors: ErrorResponseName[] = ['IdempotencyKeyInUse', 'IdempotencyKeyReused'];

function contentOf(answer: Answers[number]): Pick<ResponseConfig, 'content'> {
  if ('stream' in answer) return { content: answer.stream };
  if ('empty' in answer) return {};
  const { schema, example, examples } = answer;
  const shown = { ...(example !== undefined && { example }), ...(examples && { examples }) };
  return { content: { 'application/json': { schema, ...shown } } };
}

function responsesOf({ answers, permission, takesIdempotencyKey }: Endpoint): RouteConfig['responses'] {
  const limits: HeaderName[] = permission === 'public' ? [] : ['RateLimit-Policy', 'RateLimit'];
  const replays: HeaderName[] = takesIdempotencyKey ? ['Idempotent-Replayed'] : [];
  const responses = Object.entries(answers).map(([status, answer]) => {
    const { description, headers = [] } = answer;
    const response = {
      description,
      ...contentOf(answer),
      headers: headerRefs('Request-Id', ...headers, ...replays, ...limits),
    };
    return [status, response];
  });
  return Object.fromEntries(responses);
}

function requestOf(endpoint: Endpoint): NonNullable<RouteConfig['request']> {
  const { params, query, body, takesIdempotencyKey } = endpoint;
  const headers = takesIdempotencyKey
    ? idempotencyKeyHeader.extend(endpoint.headers?.shape ?? {})
    : endpoint.headers;
  return {
    ...(params && { params }),
    ...(query && query !== 'ignored' && { query }),
    ...(headers && { headers }),
    ...(body && { body }),
  };
}

/** Adds an endpoint's operation to the document. */
export function registerOperation(registry: OpenAPIRegistry, endpoint: Endpoint): void {
  const { method, path, operationId, summary, description, tag, permission, body } = endpoint;
  const { errors = [], takesIdempotencyKey } = endpoint;
  const isPublic = permission === 'public';
  registry.registerPath({
    method,
    path,
    operationId,
    summary,
    request: requestOf(endpoint),
    tags: [tag],
    description: `${description}\n\n${needs(permission)}`,
    'x-permission': permission,
    ...(isPublic && { security: [] }),
    responses: {
      ...errorRefs([
        ...(takesIdempotencyKey ? idempotencyErrors : []),
        ...(isPublic ? errors : (['InvalidParameter', ...errors, ...keyErrors] as const)),
        ...(body ? (['TooSlow', 'ExpectationFailed'] as const) : []),
        'HeadersTooLarge',
      ]),
      ...responsesOf(endpoint),
    },
  });
}
