import type { ZodRequestBody } from '@asteasolutions/zod-to-openapi';
import type { z } from 'zod';
import type { Answer } from '../server/answer.ts';
import type { Exchange } from '../server/exchange.ts';
import type { Route, ServedEndpoint } from '../server/serveEndpoint.ts';
import type { AnswerOf, Answers, Exactly } from './answers.ts';
import type { ErrorResponseName } from './errorResponses.ts';
import { fieldNames } from './fieldNames.ts';
import { idempotencyKeyHeader } from './idempotencyKeyHeader.ts';

/** What the document says about an endpoint; the router uses the same method, path, permission and query. */
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
  /** Whether it accepts an `Idempotency-Key`; every write of the integration interface does. */
  takesIdempotencyKey?: true;
  body?: ZodRequestBody;
  answers: Answers;
  /** What can go wrong, besides what every endpoint with its permission shares. */
  errors?: readonly ErrorResponseName[];
}

/** An endpoint: its description, and what creates its handler at startup. */
export interface Endpoint<Ports = never> extends Description {
  handler(ports: Ports): (exchange: Exchange) => Promise<Answer>;
}

/**
 * Describes an endpoint and handles it. To add one, write a file in the folder of its subject, and add one line to
 * that folder's list: router and document are built from the same lists. A handler compiles only when it returns the
 * described responses, with all of their fields and no others.
 */
export function endpoint<const Described extends Answers, Ports, const Given extends AnswerOf<Described>>(
  described: Omit<Description, 'answers'> & {
    answers: Described;
    handler(ports: Ports): (exchange: Exchange) => Promise<Given & Exactly<AnswerOf<Described>, Given>>;
  },
): Endpoint<Ports> {
  return described as Endpoint<Ports>;
}

/** Returns the names of everything an endpoint accepts, according to its description. */
function namesIn({ params, query, headers, body, takesIdempotencyKey }: Description): ReadonlySet<string> {
  const bodies = Object.values(body?.content ?? {}).map(
    (media) => media && 'schema' in media && media.schema,
  );
  const schemas = [params, query, headers, takesIdempotencyKey && idempotencyKeyHeader, ...bodies];
  return new Set(schemas.flatMap(fieldNames));
}

/** Returns what the router serves for an endpoint. */
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
