import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { createEncounter, documentForm, documentsPath, paths, samples } from '../support/samples.ts';
import {
  appendedBy,
  lastBodyOf,
  openConnection,
  rawRequest,
  startTestService,
  statusesOf,
  type TestService,
} from '../support/service.ts';

const MEGABYTE = 1024 * 1024;
const LONG_MS = 60_000;
const json = { 'content-type': 'application/json' };
const formType = { 'content-type': 'application/x-www-form-urlencoded' };

let service: TestService;
let hasty: TestService;
beforeAll(async () => {
  service = await startTestService();
  hasty = await startTestService({}, { httpTimes: { headers: 200, request: 400, stalled: 60_000 } });
});
afterAll(() => Promise.all([service.stop(), hasty.stop()]));

/** Begins a request and sends so much of its body. */
function begin(to: TestService, path: string, headers: Record<string, string>, body = '') {
  return openConnection(to.url, rawRequest('POST', path, { 'x-api-key': to.key ?? '', ...headers }, body));
}

test.each([
  ['headers', () => openConnection(hasty.url, 'GET /healthz HTTP/1.1\r\n')],
  ['the fields of an upsert', () => begin(hasty, paths.payer, { ...json, 'content-length': '50' }, '{')],
])('%s that do not arrive in time: 408', async (_, open) => {
  const appended = await appendedBy(hasty, async () => {
    const received = await open().closed();
    expect(statusesOf(received)).toEqual([408]);
    expect(lastBodyOf(received)).toMatchObject({ code: 'request_timeout', requestId: expect.any(String) });
  });
  expect(appended).toEqual([]);
});

test('a request that was answered before its body came is not answered again', async () => {
  const received = await begin(hasty, '/nowhere', { 'content-length': '50' }, '{').closed();
  expect(statusesOf(received)).toEqual([404]);
});

test('a form of the dashboard that does not arrive in time: 408', async () => {
  const received = await begin(
    hasty,
    '/dashboard/sign-in',
    { ...formType, 'content-length': '50' },
    'name=',
  ).closed();
  expect(statusesOf(received)).toEqual([408]);
});

test('an upload may take longer, and so may what follows it on the connection', async () => {
  const encounter = await createEncounter(hasty);
  const encoded = new Response(documentForm());
  const type = { 'content-type': encoded.headers.get('content-type') ?? '' };
  const body = Buffer.from(await encoded.arrayBuffer());
  const appended = await appendedBy(hasty, async () => {
    const slow = openConnection(hasty.url, 'GET /healthz HTTP/1.1\r\n');
    const length = { 'content-length': String(body.length) };
    const { socket, received, closed } = begin(hasty, documentsPath(encounter), { ...type, ...length });
    socket.write(body.subarray(0, 100));
    // Others that began as late have been refused by then.
    await slow.closed();
    await openConnection(hasty.url, 'GET /healthz HTTP/1.1\r\n').closed();
    await openConnection(hasty.url, 'GET /healthz HTTP/1.1\r\n').closed();
    socket.write(body.subarray(100));
    await eventually(() => expect(statusesOf(received())).toEqual([200]));
    socket.write(
      rawRequest('POST', paths.payer, { 'x-api-key': hasty.key ?? '', ...json, 'content-length': '9' }),
    );
    expect(statusesOf(await closed())).toEqual([200, 408]);
  });
  expect(appended).toHaveLength(1);
});

test(
  'bodies of one key that are under way hold no more than 32 MB: 503, until one of them is through; others are taken',
  async () => {
    const stalled = (size: number) => {
      const headers = { ...json, 'content-length': String(size) };
      return begin(service, paths.payer, headers, '{'.padEnd(size - 1));
    };
    const open = Array.from({ length: 32 }, () => stalled(MEGABYTE));
    const other = service.as((await service.createKey('other')).key);
    const otherPayer = { ...samples.payer(), filler: 'f'.repeat(1_000) };
    const payer = samples.payer();
    const appended = await appendedBy(service, async () => {
      const filled = { ...payer, filler: 'f'.repeat(1_000) };
      await eventually(async () => {
        // What is refused leaves room: smaller ones fill it.
        for (const size of [MEGABYTE / 2, MEGABYTE / 16, MEGABYTE / 128, 1_000]) open.push(stalled(size));
        const { status, body, headers: sent } = await service.post(paths.payer, { ...filled, id: 1 });
        expect({ status, body }).toMatchObject({ status: 503, body: { code: 'overloaded' } });
        expect(sent['retry-after']).toBe('2');
      }, LONG_MS / 2);
      expect((await other.post(paths.payer, otherPayer)).status).toBe(200);
      for (const { socket } of open.slice(0, 16)) socket.destroy();
      await eventually(async () => expect((await service.post(paths.payer, filled)).status).toBe(200));
    });
    expect(appended).toEqual([
      `other.payer-${otherPayer.id}: PayerUpserted`,
      `clinic.payer-${payer.id}: PayerUpserted`,
    ]);
    for (const { socket } of open) socket.destroy();
  },
  LONG_MS,
);

test('an upload that stands still is ended: 408', async () => {
  const stalling = await startTestService(
    {},
    { httpTimes: { headers: 10_000, request: 10_000, stalled: 1_000 } },
  );
  const encounter = await createEncounter(stalling);
  const encoded = new Response(documentForm());
  const body = Buffer.from(await encoded.arrayBuffer());
  const type = { 'content-type': encoded.headers.get('content-type') ?? '' };
  const appended = await appendedBy(stalling, async () => {
    const { socket, closed } = begin(stalling, documentsPath(encounter), {
      ...type,
      'content-length': String(body.length),
    });
    socket.write(body.subarray(0, 100));
    expect(statusesOf(await closed())).toEqual([408]);
  });
  expect(appended).toEqual([]);
  await stalling.stop();
});

test('one client has 40 forms of the dashboard under way at the most: 503', async () => {
  const headers = { ...formType, 'content-length': '90000' };
  const open = Array.from({ length: 40 }, () => begin(service, '/dashboard/sign-in', headers, 'name='));
  const refused = () =>
    openConnection(
      service.url,
      rawRequest('POST', '/dashboard/sign-in', { ...formType, 'content-length': '1' }, 'a'),
    );
  await eventually(async () => {
    const { socket, received } = refused();
    await eventually(() => expect(statusesOf(received())).toHaveLength(1));
    socket.destroy();
    expect(statusesOf(received())).toEqual([503]);
  });
  expect((await service.post(paths.payer, samples.payer())).status).toBe(200);
  for (const { socket } of open) socket.destroy();
  await eventually(async () => {
    const { socket, received } = refused();
    await eventually(() => expect(statusesOf(received())).toHaveLength(1));
    socket.destroy();
    expect(statusesOf(received())).not.toEqual([503]);
  });
});
