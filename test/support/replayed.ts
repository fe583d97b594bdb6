import { expect } from 'vitest';
import type { TestResponse } from './client.ts';
import { phi } from './phi.ts';

/** The header of a fresh idempotency key, or of that one. */
export function keyed(key = phi('key')): Record<string, string> {
  return { 'idempotency-key': key };
}

/** Whether an answer says that it is that of an earlier request. */
export function isReplayed({ headers }: TestResponse): boolean {
  expect([undefined, 'true']).toContain(headers['idempotent-replayed']);
  return headers['idempotent-replayed'] === 'true';
}

/** Asserts that an answer is the first one, given again. */
export function expectReplay(repeat: TestResponse, first: TestResponse): void {
  const { status, text, headers } = repeat;
  expect({ status, text, etag: headers.etag, isReplayed: isReplayed(repeat) }).toEqual({
    status: first.status,
    text: first.text,
    etag: first.headers.etag,
    isReplayed: true,
  });
}

/** Asserts that a request wrote something by itself. */
export function expectFirst(answer: TestResponse): TestResponse {
  expect([answer.status, answer.body.error, isReplayed(answer)]).toEqual([200, undefined, false]);
  return answer;
}
