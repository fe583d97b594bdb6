import type { Readable } from 'node:stream';
import type { ZodContentObject } from '@asteasolutions/zod-to-openapi';
import type { z } from 'zod';
import type { Streamed } from '../server/answer.ts';
import type { HeaderName } from './headers.ts';

interface DescribedAnswer {
  description: string;
  /** Without those that every response has. */
  headers?: readonly HeaderName[];
}

/** A JSON response: the handler's body has the schema's type. */
export interface JsonAnswer extends DescribedAnswer {
  schema: z.ZodType;
  example?: unknown;
  examples?: Record<string, { summary: string; value: unknown }>;
}

/** A response in bytes, of any type that `stream` names: the compiler cannot know them. */
export interface StreamAnswer extends DescribedAnswer {
  stream: ZodContentObject;
}

/** A response without a body, such as 304. */
export interface EmptyAnswer extends DescribedAnswer {
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
export type AnswerOf<Described extends Answers> = {
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
export type Exactly<Described, Given> = unknown extends Described
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
