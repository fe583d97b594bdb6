import type { Readable } from 'node:stream';
import type { ZodContentObject } from '@asteasolutions/zod-to-openapi';
import type { z } from 'zod';
import type { HeaderName } from '../document/headers.ts';
import type { Streamed } from '../server/answer.ts';

interface DescribedAnswer {
  description: string;
  /** Those that every answer has are left out. */
  headers?: readonly HeaderName[];
}

/** An answer in JSON: the handler's body is of the schema's type. */
export interface JsonAnswer extends DescribedAnswer {
  schema: z.ZodType;
  example?: unknown;
  examples?: Record<string, { summary: string; value: unknown }>;
}

/** An answer in bytes, of any type that `stream` names: the compiler cannot know them. */
export interface StreamAnswer extends DescribedAnswer {
  stream: ZodContentObject;
}

/** An answer whose body is not sent, such as 304. */
export interface EmptyAnswer extends DescribedAnswer {
  empty: true;
}

/** What an endpoint answers, by status; errors aside. */
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

/** What a handler may give by what is described: one of the answers, with its status, headers and body. */
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

/** `Given`, where it has no field, at any depth, that `Described` lacks: types alone would let one pass. */
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
