import type { ZodRequestBody } from '@asteasolutions/zod-to-openapi';
import type { z } from 'zod';
import type { ErrorResponseName } from '../document/errorResponses.ts';
import { idempotencyKeyHeader } from '../document/idempotencyKeyHeader.ts';
import type { Answer } from '../server/answer.ts';
import type { Exchange } from '../server/exchange.ts';
import type { Route, ServedEndpoint } from '../server/serveEndpoint.ts';
import type { AnswerOf, Answers, Exactly } from './answers.ts';
import { fieldNames } from './fieldNames.ts';

/** What the document tells of an endpoint; the router takes the same method, path, permission and query. */
interface Description extends Pick<ServedEndpoint, 'permission' | 'query' | 'subject'> {
  method: Route['method'];
  /** With its parameters in braces: `/integration/patients/{id}`. */
  path: string;
  operationId: string;
  summary: string;
  description: string;
  tag: string;
  params?: z.ZodObject;
  headers?: z.ZodObject;
  /** It takes an `Idempotency-Key`; every write of the integration interface does. */
  takesIdempotencyKey?: true;
  body?: ZodRequestBody;
  answers: Answers;
  /** What can go wrong, beside what every endpoint of its permission shares. */
  errors?: readonly ErrorResponseName[];
}

/** An endpoint: what it is, and what makes its handler at start. */
export interface Endpoint<Ports = never> extends Description {
  handler(ports: Ports): (exchange: Exchange) => Promise<Answer>;
}

/**
 * Describes an endpoint and handles it. To add one, write a file in the folder of its subject, and one line in that
 * folder's list: router and document are made of the same lists. A handler compiles when it gives the answers that are
 * described, with all of their fields and no others.
 */
export function endpoint<const Described extends Answers, Ports, const Given extends AnswerOf<Described>>(
  described: Omit<Description, 'answers'> & {
    answers: Described;
    handler(ports: Ports): (exchange: Exchange) => Promise<Given & Exactly<AnswerOf<Described>, Given>>;
  },
): Endpoint<Ports> {
  return described as Endpoint<Ports>;
}

/** The names of all that an endpoint takes, by its description. */
function namesIn({ params, query, headers, body, takesIdempotencyKey }: Description): ReadonlySet<string> {
  const bodies = Object.values(body?.content ?? {}).map(
    (media) => media && 'schema' in media && media.schema,
  );
  const schemas = [params, query, headers, takesIdempotencyKey && idempotencyKeyHeader, ...bodies];
  return new Set(schemas.flatMap(fieldNames));
}

/** What the router serves of an endpoint. */
export function routeOf<Ports>(described: Endpoint<Ports>, ports: Ports): Route {
  const { method, path, permission, query, subject } = described;
  return {
    method,
    endpoint: {
      route: path.replace(/\{(\w+)\}/g, ':$1'),
      permission,
      fields: namesIn(described),
      ...(query && { query }),
      ...(subject && { subject }),
      handle: described.handler(ports),
    },
  };
}
