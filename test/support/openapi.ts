import { expect } from 'vitest';
import { z } from 'zod';
import type { Client, TestResponse } from './client.ts';

export interface Operation {
  operationId: string;
  'x-permission': string | string[];
  security?: object[];
  // biome-ignore lint/suspicious/noExplicitAny: the document is walked freely
  [key: string]: any;
}

/** The document as it was served. */
export interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
  // biome-ignore lint/suspicious/noExplicitAny: the document is walked freely
  [key: string]: any;
}

export async function fetchDocument(client: Client): Promise<OpenApi> {
  const { status, body } = await client.get('/openapi/json');
  expect(status).toBe(200);
  return body;
}

/** Every operation, with its method and path. */
export function operationsOf({ paths }: OpenApi): { method: string; path: string; operation: Operation }[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
}

/** The operation of an id. */
export function operationOf(document: OpenApi, operationId: string): Operation {
  const found = operationsOf(document).find(({ operation }) => operation.operationId === operationId);
  if (found === undefined) throw new Error(`the document has no operation ${operationId}`);
  return found.operation;
}

// biome-ignore lint/suspicious/noExplicitAny: the document is walked freely
function resolveRef(document: OpenApi, value: any): any {
  if (value.$ref === undefined) return value;
  const [, ...path] = value.$ref.split('/');
  return path.reduce((inner: OpenApi, key: string) => inner[key], document);
}

/** For `JSON.parse`: the same schemas, but objects have no fields beyond those that are described. */
export function closed(_key: string, value: unknown): unknown {
  const isObject = typeof value === 'object' && value !== null && 'properties' in value;
  return isObject && !('additionalProperties' in value) ? { ...value, additionalProperties: false } : value;
}

/** What a schema of the document takes. */
export function bodySchema(document: OpenApi, schema: object): z.ZodType {
  const whole = JSON.stringify({ ...schema, $defs: document.components.schemas });
  return z.fromJSONSchema(JSON.parse(whole.replaceAll('#/components/schemas/', '#/$defs/'), closed));
}

/** Headers that go with the settings, with a repeat, or with one of several errors of a status. */
function isSentAtTimes(name: string, { status, body }: TestResponse): boolean {
  if (name === 'Retry-After') return status === 409 && body.code !== 'idempotency_key_in_use';
  return name.startsWith('RateLimit') || name === 'Idempotent-Replayed';
}

/** Asserts that an answer is one that the operation describes: its status, headers and body. */
export function expectDocumented(document: OpenApi, operationId: string, answer: TestResponse): void {
  const described = operationOf(document, operationId).responses[answer.status];
  if (described === undefined) throw new Error(`${operationId} does not describe status ${answer.status}`);
  const { headers = {}, content } = resolveRef(document, described);
  for (const name of Object.keys(headers)) {
    if (!isSentAtTimes(name, answer)) expect(answer.headers).toHaveProperty(name.toLowerCase());
  }
  if (content === undefined) {
    expect(answer.text).toBe('');
    return;
  }
  const type = String(answer.headers['content-type']).split(';')[0] as string;
  expect(Object.keys(content)).toContain(type);
  if (type !== 'application/json') return;
  const { error } = bodySchema(document, content[type].schema).safeParse(answer.body);
  expect(error?.issues ?? []).toEqual([]);
}
