import type { ServiceError } from '../../platform/errors.ts';
import { type ErrorResponse, type ErrorResponseName, errorResponses } from '../schemas/errors.ts';
import { exampleRequestId } from '../schemas/examples.ts';
import { headerRefs } from '../schemas/headers.ts';
import { errorAnswer, statusOf } from '../server/answer.ts';

function statusOfResponse({ errors }: ErrorResponse): number {
  return statusOf[(Object.values(errors)[0] as ServiceError).code];
}

/** Returns the content of `components/responses`. */
export function errorResponseComponents() {
  return Object.entries<ErrorResponse>(errorResponses).map(
    ([name, { description, errors, headers = [] }]) => {
      const examples = Object.entries(errors).map(([key, error]) => [
        key,
        { value: errorAnswer(error, exampleRequestId).body },
      ]);
      const response = {
        description,
        headers: headerRefs('Request-Id', 'RateLimit-Policy', 'RateLimit', ...headers),
        content: {
          'application/json': {
            schema: { $ref: '#/components/schemas/ErrorBody' },
            examples: Object.fromEntries(examples),
          },
        },
      };
      return { name, response };
    },
  );
}

/** Returns references to error responses, by status. */
export function errorRefs(names: readonly ErrorResponseName[]): Record<string, { $ref: string }> {
  const refs = names.map((name) => [
    statusOfResponse(errorResponses[name]),
    { $ref: `#/components/responses/${name}` },
  ]);
  return Object.fromEntries(refs);
}
