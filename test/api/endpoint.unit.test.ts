import { expect, test } from 'vitest';
import { z } from 'zod';
import { endpoint, routeOf } from '../../src/api/schemas/endpoint.ts';

const schema = z.object({ id: z.string(), size: z.object({ bytes: z.int() }).nullable() });
const described = {
  method: 'get',
  path: '/things/{id}/parts/{part}',
  operationId: 'readThing',
  summary: 'Read a thing',
  description: 'The thing.',
  tag: 'Things',
  permission: 'read',
} as const;
const answers = { 200: { description: 'The thing.', headers: ['ETag'], schema } } as const;
const headers = { ETag: '"1"' };

test('an endpoint is served at its path, with what its handler needs', async () => {
  const readThing = endpoint({
    ...described,
    answers,
    handler:
      ({ id }: { id: string }) =>
      async () => ({ headers, body: { id, size: { bytes: 1 } } }),
  });
  const { method, endpoint: served } = routeOf(readThing, { id: 'a' });
  expect([method, served.route, served.permission]).toEqual(['get', '/things/:id/parts/:part', 'read']);
  expect(await served.handle({} as never)).toEqual({ headers, body: { id: 'a', size: { bytes: 1 } } });
});

test('a handler whose answer is not the one described does not compile', () => {
  const wide = { id: 'a', size: { bytes: 1, kilobytes: 0 } };
  const other = { id: 1, size: null };
  const wrong = [
    // @ts-expect-error a field is lacking
    endpoint({ ...described, answers, handler: () => async () => ({ headers, body: { id: 'a' } }) }),
    // @ts-expect-error a nested field is not documented
    endpoint({ ...described, answers, handler: () => async () => ({ headers, body: wide }) }),
    // @ts-expect-error a field of another type
    endpoint({ ...described, answers, handler: () => async () => ({ headers, body: other }) }),
    // @ts-expect-error a documented header is lacking
    endpoint({ ...described, answers, handler: () => async () => ({ body: { id: 'a', size: null } }) }),
    // @ts-expect-error a status that is not documented
    endpoint({ ...described, answers, handler: () => async () => ({ status: 304, headers, body: {} }) }),
  ];
  expect(wrong.map(({ operationId }) => operationId)).toEqual(Array(5).fill('readThing'));
});
