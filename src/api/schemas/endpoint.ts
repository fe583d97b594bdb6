import type { Readable } from 'node:stream';
import type { ZodContentObject, ZodRequestBody } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import type { Answer, Streamed } from '../server/answer.ts';
import type { Route, ServedEndpoint } from '../server/dispatch.ts';
import type { RequestContext } from '../server/requestContext.ts';
import type { ErrorResponseName } from './errors.ts';
import { type HeaderName, idempotencyKeyHeader } from './headers.ts';

interface DescribedAnswer {
  description: string;
  /** Without those that every response has. */
  headers?: readonly HeaderName[];
}

/** A JSON response: the handler's body has the schema's type. */
interface JsonAnswer extends DescribedAnswer {
  schema: z.ZodType;
  example?: unknown;
  examples?: Record<string, { summary: string; value: unknown }>;
}

/** The schema of a response that is no JSON value: generated clients return its bytes, and do not parse it. */
export const bytesSchema = { type: 'string', format: 'binary' } as const;

/** A response in bytes, of any type that `stream` names: the compiler cannot know them. */
interface StreamAnswer extends DescribedAnswer {
  stream: ZodContentObject;
}

/** A response without a body, such as 304. */
interface EmptyAnswer extends DescribedAnswer {
  empty: true;
}

/** An endpoint's responses, by status; apart from errors. */
export type Answers = Record<number, JsonAnswer | StreamAnswer | EmptyAnswer>;

type StatusOf<Status> = Status extends 200 ? { status?: 200 } : { status: Status };

type HeadersOf<Described> = Described extends StreamAnswer
  ? { headers: Record<string, string> }
  : Described extends { headers: readonly (infer Name extends string)[] }
    ? { headers: Record<Exclude<Name, 'Cache-Control'>, string> }
    : { headers?: never };

type BodyOf<Described> = Described extends { schema: infer Schema extends z.ZodType }
  ? { body: z.output<Schema> }
  : Described extends StreamAnswer
    ? { body: Streamed }
    : { body: object };

/** What a handler may return given the description: one of the responses, with its status, headers and body. */
type AnswerOf<Described extends Answers> = {
  [Status in keyof Described]: StatusOf<Status> & HeadersOf<Described[Status]> & BodyOf<Described[Status]>;
}[keyof Described];

type Whole = string | number | boolean | null | undefined | Readable | ((...parameters: never[]) => unknown);
type KeyOf<Described> = Described extends unknown ? keyof Described : never;
type FieldOf<Described, Key> = Described extends unknown
  ? Key extends keyof Described
    ? Described[Key]
    : never
  : never;

/** `Given`, provided that it has no field, at any depth, that `Described` lacks: types alone would let one pass. */
type Exactly<Described, Given> = unknown extends Described
  ? Given
  : Given extends Whole
    ? Given
    : Given extends readonly (infer Item)[]
      ? readonly Exactly<Extract<Described, readonly unknown[]>[number], Item>[]
      : Given extends object
        ? {
            [Key in keyof Given]: Key extends KeyOf<Described>
              ? Exactly<FieldOf<Described, Key>, Given[Key]>
              : never;
          }
        : Given;

/** Returns the names of a schema's fields, those of objects within it dotted; for a list, those of its items. */
export function fieldNames(schema: unknown): string[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return fieldNames(schema.unwrap());
  if (schema instanceof z.ZodArray) return fieldNames(schema.element);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(fieldNames);
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape).flatMap(([name, field]) => [
    name,
    ...fieldNames(field).map((inner) => `${name}.${inner}`),
  ]);
}

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
  handler(ports: Ports): (context: RequestContext) => Promise<Answer>;
}

/**
 * Describes an endpoint and handles it. To add one, write a file in the folder of its subject, and add one line to
 * that folder's list: router and document are built from the same lists. A handler compiles only when it returns the
 * described responses, with all of their fields and no others.
 */
export function endpoint<const Described extends Answers, Ports, const Given extends AnswerOf<Described>>(
  described: Omit<Description, 'answers'> & {
    answers: Described;
    handler(ports: Ports): (context: RequestContext) => Promise<Given & Exactly<AnswerOf<Described>, Given>>;
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

/** Returns who may read a description of the interface, and what can go wrong then; `openapiPublic`: everyone may. */
export function descriptionAccess(openapiPublic: boolean): Required<Pick<Endpoint, 'permission' | 'errors'>> {
  return openapiPublic
    ? { permission: 'public', errors: ['InvalidParameter', 'NotThatVersion', 'InternalError'] }
    : { permission: 'key', errors: ['NotThatVersion'] };
}
