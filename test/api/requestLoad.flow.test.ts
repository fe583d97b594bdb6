import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { paths, samples } from '../support/samples.ts';
import {
  type Faults,
  openConnection,
  rawRequest,
  startFaultyApp,
  startTestService,
  type TestService,
} from '../support/service.ts';

/** As many of one key as a thread works on at once. */
const MOST = 1_000;

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

test('of more requests of one key than a thread works on at once, the rest is refused at once, and taken when it gets on', async () => {
  const other = await service.createKey('other');
  const held = Promise.withResolvers<void>();
  let appends = 0;
  const append: Faults['eventLog'] = {
    async append(stream, event, expected) {
      appends += 1;
      await held.promise;
      return service.eventLog.append(stream, event, expected);
    },
  };
  const app = await startFaultyApp(service, { eventLog: append });
  // Bodies that are on their way hold up nobody.
  const head = { 'x-api-key': service.key ?? '', 'content-type': 'application/json', 'content-length': '9' };
  const slow = Array.from({ length: 20 }, () =>
    openConnection(app.url, rawRequest('POST', paths.payer, head, '{')),
  );
  const taken = Array.from({ length: MOST }, () => app.post(paths.payer, samples.payer()));
  await eventually(() => expect(appends).toBe(MOST));
  const payer = samples.payer();
  const refused = await Promise.all([
    app.post(paths.payer, payer),
    app.send(`${paths.payer}/${payer.id}`),
    app.send(paths.payer),
  ]);
  for (const { status, body, headers } of refused) {
    expect({ status, code: body.code, retryAfter: headers['retry-after'] }).toEqual({
      status: 503,
      code: 'overloaded',
      retryAfter: '2',
    });
  }
  const others = app.post(paths.payer, samples.payer(), { 'x-api-key': other.key });
  await eventually(() => expect(appends).toBe(MOST + 1));
  expect((await app.get('/healthz')).status).toBe(200);
  expect((await app.get('/readyz')).status).toBe(200);
  held.resolve();
  expect(new Set((await Promise.all(taken)).map(({ status }) => status))).toEqual(new Set([200]));
  expect((await others).status).toBe(200);
  expect((await app.post(paths.payer, payer)).status).toBe(200);
  expect((await app.get(`${paths.payer}/${payer.id}`)).status).toBe(200);
  for (const { socket } of slow) socket.destroy();
  await app.stop();
});

test('a body counts until it is handled, with what it is unpacked to', async () => {
  const held = Promise.withResolvers<void>();
  let appends = 0;
  const append: Faults['eventLog'] = {
    async append(stream, event, expected) {
      appends += 1;
      await held.promise;
      return service.eventLog.append(stream, event, expected);
    },
  };
  const app = await startFaultyApp(service, { eventLog: append });
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
  const send = () => {
    const payer = { ...samples.payer(), filler: ' '.repeat(1_000_000) };
    return app.send(paths.payer, { method: 'POST', headers, body: gzipSync(JSON.stringify(payer)) });
  };
  let refused = 0;
  const sent = Array.from({ length: 40 }, async () => {
    const { status } = await send();
    if (status === 503) refused += 1;
    return status;
  });
  await eventually(() => expect(appends + refused).toBe(40));
  // The share of one key is 32 MB.
  expect(appends).toBeLessThanOrEqual(33);
  held.resolve();
  expect(new Set(await Promise.all(sent))).toEqual(new Set([200, 503]));
  expect((await send()).status).toBe(200);
  await app.stop();
});
