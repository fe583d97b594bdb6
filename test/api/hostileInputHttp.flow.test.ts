import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { paths, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import {
  appendedBy,
  lastBodyOf,
  openConnection,
  rawRequest,
  sharedService,
  statusesOf,
  type TestService,
} from '../support/service.ts';

const json = { 'content-type': 'application/json' };
const twoMegabytes = JSON.stringify({ id: 'x', name: 'y', filler: 'f'.repeat(2 * 1024 * 1024) });

onEmbeddedEngines(() => {
  let service: TestService;
  beforeAll(async () => {
    service = await sharedService();
  });
  afterAll(() => service.stop());

  const open = (...bytes: string[]) => openConnection(service.url, ...bytes);
  const request = (method: string, path: string, headers: Record<string, string>, body = '') =>
    rawRequest(method, path, { 'x-api-key': service.key ?? '', ...headers }, body);

  const chunked = (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const length = (body: string) => ({ ...json, 'content-length': String(body.length) });

  describe('a body over 1 MB is answered with 413', () => {
    test.each([{}, { 'transfer-encoding': 'chunked' }])('with headers %j', async (headers) => {
      const appended = await appendedBy(service, async () => {
        const answer = await service.send(paths.payer, {
          method: 'POST',
          body: twoMegabytes,
          headers: { ...json, ...(headers as Record<string, string>) },
        });
        expect({ status: answer.status, body: answer.body }).toMatchObject({
          status: 413,
          body: { code: 'payload_too_large', error: 'The body is larger than 1 MB.' },
        });
      });
      expect(appended).toEqual([]);
    });

    test.each(['with a length', 'in chunks'])(
      '%s, and the connection serves the next request',
      async (how) => {
        const large =
          how === 'in chunks'
            ? request('POST', paths.payer, { ...json, 'transfer-encoding': 'chunked' }, chunked(twoMegabytes))
            : request('POST', paths.payer, length(twoMegabytes), twoMegabytes);
        const { socket, received } = open(large, request('GET', '/openapi/json', {}));
        await eventually(() => expect(statusesOf(received())).toEqual([413, 200]));
        socket.destroy();
      },
    );

    test('before the client has sent it', async () => {
      const { socket, received } = open(
        request('POST', paths.payer, { ...json, 'content-length': '2000000' }),
      );
      await eventually(() => expect(statusesOf(received())).toEqual([413]));
      socket.destroy();
    });

    test('while one of exactly 1 MB is taken', async () => {
      const payer = samples.payer();
      const bare = JSON.stringify({ ...payer, filler: '' });
      const fitting = { ...payer, filler: 'f'.repeat(1024 * 1024 - bare.length) };
      const appended = await appendedBy(service, async () => {
        expect((await service.post(paths.payer, fitting)).status).toBe(200);
        const { status } = await service.post(paths.payer, { ...fitting, filler: `${fitting.filler}f` });
        expect(status).toBe(413);
      });
      expect(appended).toHaveLength(1);
    });
  });

  test('a body that breaks off appends nothing', async () => {
    const appended = await appendedBy(service, async () => {
      for (const headers of [{ 'content-length': '500' }, { 'transfer-encoding': 'chunked' }]) {
        const body = JSON.stringify(samples.payer());
        const sent = 'content-length' in headers ? body : `fff\r\n${body}`;
        const { socket } = open(request('POST', paths.payer, { ...json, ...headers }, sent));
        await new Promise((resolve) => socket.once('connect', resolve));
        socket.end();
        await new Promise((resolve) => socket.once('close', resolve));
      }
    });
    expect(appended).toEqual([]);
  });

  const padding = { 'x-filler': 'f'.repeat(100_000) };
  const inChunks = { ...json, 'transfer-encoding': 'chunked' };
  const withHosts = (...hosts: string[]) =>
    `GET /healthz HTTP/1.1\r\n${hosts.map((host) => `hOST: ${host}\r\n`).join('')}\r\n`;
  const hostless = (method: string) => `${method} /healthz HTTP/1.1\r\n\r\n`;

  test.each([
    ['no HTTP at all', 400, 'validation_failed', () => 'nonsense\r\n\r\n'],
    ['TLS', 400, 'validation_failed', () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['an unknown method', 501, 'not_implemented', () => request('BREW', paths.payer, {})],
    ['a method in small letters', 501, 'not_implemented', () => request('get', paths.payer, {})],
    ['a tunnel', 501, 'not_implemented', () => request('CONNECT', 'example.com:443', {})],
    ['an unknown method of HTTP/2', 400, 'validation_failed', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['no host', 400, 'validation_failed', () => hostless('GET')],
    ['two hosts', 400, 'validation_failed', () => withHosts('a.example', 'b.example')],
    ['the same host twice', 400, 'validation_failed', () => withHosts('a.example', 'a.example')],
    ['a host with a blank', 400, 'validation_failed', () => withHosts('a b')],
    ['a host with a path', 400, 'validation_failed', () => withHosts('a.example/path')],
    [
      'two lengths',
      400,
      'validation_failed',
      () => request('POST', paths.payer, { ...inChunks, 'content-length': '5' }, '0\r\n\r\n'),
    ],
    [
      'a bad length',
      400,
      'validation_failed',
      () => request('POST', paths.payer, { 'content-length': '-1' }),
    ],
    ['bad chunks', 400, 'validation_failed', () => request('POST', paths.payer, inChunks, 'zz\r\n')],
    [
      'chunks with long extensions',
      413,
      'payload_too_large',
      () => request('POST', paths.payer, inChunks, `2;${'x'.repeat(100_000)}\r\n{}\r\n0\r\n\r\n`),
    ],
    ['large headers', 431, 'headers_too_large', () => request('GET', paths.payer, padding)],
    ['a long path', 431, 'headers_too_large', () => request('GET', `/${'p'.repeat(100_000)}`, {})],
    [
      'an unknown expectation',
      417,
      'expectation_failed',
      () => request('POST', paths.payer, { ...json, 'content-length': '2', expect: 'a miracle' }),
    ],
  ])('%s is answered with %i and an error, and the connection is closed', async (_, status, code, bytes) => {
    const appended = await appendedBy(service, async () => {
      const received = await open(bytes()).closed();
      expect(statusesOf(received)).toEqual([status]);
      expect(received.toLowerCase()).toContain('\r\nconnection: close\r\n');
      const body = lastBodyOf(received);
      const field = bytes().includes('OST:') || bytes() === hostless('GET') ? 'Host' : '';
      const details = [{ field, message: expect.any(String) }];
      expect(body).toEqual({
        ...{ error: expect.any(String), code, requestId: expect.any(String) },
        ...(code === 'validation_failed' && { details }),
      });
      expect(received).toContain(`Request-Id: ${body.requestId}`);
    });
    expect(appended).toEqual([]);
    expect((await service.get('/healthz')).status).toBe(200);
  });

  test('what follows an answer and is no HTTP is answered after it', async () => {
    const received = await open(request('GET', '/openapi/json', {}), 'nonsense\r\n\r\n').closed();
    expect(statusesOf(received)).toEqual([200, 400]);
  });

  test.each(['%', '%zz', '%E0%A4%A', '%C0%AF', 'a%ff', '%ED%A0%80'])(
    'a path that ends in %s is malformed: 400',
    async (end) => {
      for (const path of [`${paths.payer}/${end}`, `${paths.encounter}/${end}/documents`]) {
        const { status, body } = await service.get(path);
        expect({ status, body }).toMatchObject({
          status: 400,
          body: { code: 'validation_failed', details: [{ field: 'path' }], requestId: expect.any(String) },
        });
      }
    },
  );

  test.each(['example.com', 'example.com:8443', '[::1]:3000', '127.0.0.1', ''])(
    'the host %j is accepted',
    async (host) => {
      const received = await open(
        `GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
      ).closed();
      expect(statusesOf(received)).toEqual([200]);
    },
  );

  test('a method that a path does not support is 405 with those that it does; where there is no path, 501', async () => {
    const appended = await appendedBy(service, async () => {
      for (const method of ['PUT', 'OPTIONS', 'TRACE', 'PROPFIND']) {
        const known = await open(request(method, paths.payer, { connection: 'close' })).closed();
        expect([statusesOf(known), known]).toEqual([
          [405],
          expect.stringContaining('Allow: POST, GET, HEAD\r\n'),
        ]);
        const unknown = await open(request(method, '/nowhere', { connection: 'close' })).closed();
        expect([method, statusesOf(unknown)]).toEqual([method, [method === 'PUT' ? 404 : 501]]);
      }
    });
    expect(appended).toEqual([]);
  });

  test.each([
    '/',
    '/nowhere',
    '/integration',
    '/integration/unknown',
    `${paths.payer}/a/b`,
    '//',
    '/.env',
    '/%2e%2e',
  ])('there is nothing at %s: 404', async (path) => {
    for (const client of [service, service.as(undefined)]) {
      const { status, body } = await client.get(path);
      expect({ status, body }).toMatchObject({ status: 404, body: { code: 'not_found' } });
    }
  });

  test.each([
    ['PUT', paths.payer, 'GET, HEAD, POST'],
    ['PATCH', paths.payer, 'GET, HEAD, POST'],
    ['DELETE', paths.patient, 'GET, HEAD, POST'],
    ['OPTIONS', paths.patient, 'GET, HEAD, POST'],
    ['POST', `${paths.payer}/payer-1`, 'GET, HEAD, PATCH'],
    ['DELETE', `${paths.payer}/payer-1`, 'GET, HEAD, PATCH'],
    ['POST', '/healthz', 'GET, HEAD'],
  ])('%s %s is answered with 405 and what is allowed', async (method, path, allow) => {
    const appended = await appendedBy(service, async () => {
      const payer = JSON.stringify(samples.payer());
      const { status, headers, body } = await service.send(path, {
        method,
        headers: length(payer),
        body: payer,
      });
      expect({ status, body }).toMatchObject({ status: 405, body: { code: 'method_not_allowed' } });
      expect(String(headers.allow).split(', ').sort()).toEqual(allow.split(', '));
    });
    expect(appended).toEqual([]);
  });

  test('HEAD answers as GET does, without a body', async () => {
    const payer = samples.payer();
    await service.post(paths.payer, payer);
    for (const path of [
      paths.payer,
      `${paths.payer}/${payer.id}`,
      `${paths.payer}/nowhere`,
      '/healthz',
      '/nowhere',
    ]) {
      const get = await service.get(path);
      const head = await service.send(path, { method: 'HEAD' });
      expect(head.text).toBe('');
      expect(head.status).toBe(get.status);
      for (const name of ['content-type', 'content-length', 'etag']) {
        expect(head.headers[name]).toEqual(get.headers[name]);
      }
    }
  });
});
