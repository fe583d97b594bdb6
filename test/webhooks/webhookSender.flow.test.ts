import type { ServerResponse } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type ResolveName, WebhookSender } from '../../src/modules/webhooks/sender.ts';
import { createEgressPolicy } from '../../src/modules/webhooks/settings.ts';
import { systemClock } from '../../src/storage/rateLimiters.ts';

import { eventually } from '../support/eventually.ts';
import { BODY, listen, noName, ok, Receiver, senderWith, times } from '../support/webhooks.ts';

/** A server that speaks whatever it likes. */
async function listenRaw(onSocket: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    onSocket(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as { port: number }).port;
}

describe('a message', () => {
  test('is posted, and the answer told', async () => {
    const receiver = await listen((_req, res) => res.writeHead(202).end('taken'));
    const send = senderWith({ clock: { ...systemClock, now: () => Date.parse('2026-03-14T09:30:00.250Z') } });
    expect(await send(`http://127.0.0.1:${receiver.port}/hooks/a%20b?x=1`)).toEqual({
      at: '2026-03-14T09:30:00.250Z',
      durationMs: expect.any(Number),
      status: 202,
      answer: 'taken',
    });
    expect(receiver.received).toEqual([
      {
        method: 'POST',
        path: '/hooks/a%20b?x=1',
        headers: expect.objectContaining({ 'webhook-id': 'msg_1', 'content-length': '15' }),
        body: BODY,
      },
    ]);
  });

  test('goes over a connection that is there, and does not wait for others to be answered', async () => {
    const waiting: ServerResponse[] = [];
    const receiver = await listen((req, res) => (req.url === '/slow' ? waiting.push(res) : res.end()));
    const send = senderWith();
    const url = `http://127.0.0.1:${receiver.port}`;
    for (let n = 0; n < 50; n++) expect(await send(url)).toMatchObject({ status: 200 });
    expect(receiver.connections).toBeLessThan(5);
    const slow = Array.from({ length: 100 }, () => send(`${url}/slow`));
    await eventually(() => expect(waiting).toHaveLength(100));
    expect(await send(url)).toMatchObject({ status: 200 });
    for (const res of waiting) res.end();
    expect((await Promise.all(slow)).map(({ status }) => status)).toEqual(Array(100).fill(200));
  });

  test('gets through when only the second address of a name answers', async () => {
    const receiver = await listen(ok, { host: '127.0.0.2' });
    const send = senderWith({ resolve: async () => ['127.0.0.1', '127.0.0.2'] });
    expect(await send(`http://hooks.example.com:${receiver.port}/`)).toMatchObject({ status: 200 });
  });

  test.each([400, 404, 410, 429, 500, 503])(
    'that is answered with %d has that status and no error',
    async (status) => {
      const receiver = await listen((_req, res) => res.writeHead(status).end());
      const attempt = await senderWith()(`http://127.0.0.1:${receiver.port}`);
      expect(attempt).toEqual({ ...times, status, answer: '' });
    },
  );

  test.each([
    ['120', 120],
    ['0', 0],
    ['Sat, 14 Mar 2026 09:32:00 GMT', 120],
    ['Sat, 14 Mar 2026 09:00:00 GMT', 0],
    ['soon', undefined],
    ['-1', undefined],
    ['99999999999999999999', undefined],
  ])(
    'that is answered with Retry-After: %s waits for %p s, by the clock of the endpoint',
    async (value, seconds) => {
      const date = 'Sat, 14 Mar 2026 09:30:00 GMT';
      const receiver = await listen((_req, res) => res.writeHead(503, { 'retry-after': value, date }).end());
      const attempt = await senderWith()(`http://127.0.0.1:${receiver.port}`);
      expect(attempt.retryAfterSeconds).toBe(seconds);
    },
  );
});

describe('an answer', () => {
  test('without end is cut off, and its connection closed', async () => {
    let sent = 0;
    const closed = Promise.withResolvers<void>();
    const receiver = await listen((_req, res) => {
      const more = () => {
        do sent += 16_384;
        while (!res.destroyed && res.write('x'.repeat(16_384)));
      };
      res.on('drain', more).on('close', closed.resolve);
      more();
    });
    const attempt = await senderWith()(`http://127.0.0.1:${receiver.port}/`);
    expect(attempt).toEqual({ ...times, status: 200, answer: 'x'.repeat(1_000) });
    await closed.promise;
    // What the sockets' buffers hold was sent, too.
    expect(sent).toBeLessThan(50_000_000);
  });

  test('whose body never ends counts by its status', async () => {
    const receiver = await listen((_req, res) => void res.write('thank '));
    const attempt = await senderWith({ timeoutMs: 300 })(`http://127.0.0.1:${receiver.port}/`);
    expect(attempt).toEqual({ ...times, status: 200, answer: 'thank ' });
  });

  test('keeps its first 1,000 characters, of which none controls a terminal', async () => {
    const text = `\u001b[2J\u0000é🩺\n\t\u009b${'ü'.repeat(2_000)}`;
    const receiver = await listen((_req, res) => res.end(text));
    const { answer } = await senderWith()(`http://127.0.0.1:${receiver.port}/`);
    expect(answer).toBe(` [2J é🩺\n\t ${'ü'.repeat(989)}`);
    expect(answer).toHaveLength(1_000);
  });

  test('that is no UTF-8 is no trouble', async () => {
    const receiver = await listen((_req, res) => res.end(Buffer.from([0xff, 0xfe, 0x41])));
    const { answer } = await senderWith()(`http://127.0.0.1:${receiver.port}/`);
    expect(answer).toBe('\ufffd\ufffdA');
  });

  test.each([
    ['no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n', 'invalid_answer'],
    ['headers without end', `HTTP/1.1 200 OK\r\n${'x-y: z\r\n'.repeat(10_000)}`, 'invalid_answer'],
    ['nothing', '', 'connection'],
    ['half of a status', 'HTTP/1.1 2', 'connection'],
    [
      'an upgrade',
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
      'connection',
    ],
  ])('that is %s is no answer', async (_what, bytes, error) => {
    const port = await listenRaw((socket) => socket.once('data', () => socket.end(bytes)));
    expect(await senderWith()(`http://127.0.0.1:${port}/`)).toEqual({ ...times, error });
  });
});

describe('the time for a try ends', () => {
  const timeoutMs = 300;
  const timeout = { ...times, error: 'timeout' };

  test('with an endpoint that does not answer, and its connection is closed', async () => {
    const closed = Promise.withResolvers<void>();
    const port = await listenRaw((socket) => socket.resume().on('close', closed.resolve));
    expect(await senderWith({ timeoutMs })(`http://127.0.0.1:${port}/`)).toEqual(timeout);
    await closed.promise;
  });

  test('with informational answers alone', async () => {
    const port = await listenRaw((socket) => {
      const more = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 20);
      socket.resume().on('close', () => clearInterval(more));
    });
    expect(await senderWith({ timeoutMs })(`http://127.0.0.1:${port}/`)).toEqual(timeout);
  });

  test('with headers that come byte by byte', async () => {
    const port = await listenRaw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nx: ');
      const more = setInterval(() => socket.write('y'), 20);
      socket.resume().on('close', () => clearInterval(more));
    });
    expect(await senderWith({ timeoutMs })(`http://127.0.0.1:${port}/`)).toEqual(timeout);
  });

  test('while TLS is shaken hands on', async () => {
    const port = await listenRaw((socket) => socket.resume());
    expect(await senderWith({ timeoutMs })(`https://127.0.0.1:${port}/`)).toEqual(timeout);
  });

  test('while a name is looked up', async () => {
    const send = senderWith({ timeoutMs, resolve: () => new Promise(() => undefined) });
    expect(await send('https://hooks.example.com/')).toEqual(timeout);
  });
});

describe('a try that does not get through tells why', () => {
  test.each<[string, ResolveName]>([
    ['is not known', noName],
    ['has no address', async () => []],
  ])('when the name %s', async (_what, resolve) => {
    expect(await senderWith({ resolve })('https://hooks.example.com/')).toEqual({ ...times, error: 'dns' });
  });

  test('when nothing listens', async () => {
    const receiver = await Receiver.listen(ok);
    await receiver.close();
    const url = `//127.0.0.1:${receiver.port}/`;
    expect(await senderWith()(`http:${url}`)).toEqual({ ...times, error: 'connection' });
    expect(await senderWith()(`https:${url}`)).toEqual({ ...times, error: 'connection' });
  });

  test('and whether anything was sent, which it was not without a connection', async () => {
    const receiver = await listen((_req, res) => res.destroy());
    const sender = new WebhookSender({ addresses: createEgressPolicy(['127.0.0.0/8']), timeoutMs: 10_000 });
    onTestFinished(() => sender.close());
    const onSent = vi.fn();
    const { signal } = new AbortController();
    const send = (url: string) => sender.send(url, {}, BODY, signal, onSent);
    await send(`http://127.0.0.1:${receiver.port}/`);
    expect(onSent).toHaveBeenCalledTimes(1);
    await send(`https://127.0.0.1:${receiver.port}/`);
    await send('http://10.0.0.1/');
    await receiver.close();
    await send(`http://127.0.0.1:${receiver.port}/`);
    expect(onSent).toHaveBeenCalledTimes(1);
  });

  test('when it is broken off, before or on its way', async () => {
    const stop = new AbortController();
    const receiver = await listen(() => stop.abort());
    const send = senderWith();
    const url = `http://127.0.0.1:${receiver.port}/`;
    expect(await send(url, stop.signal)).toEqual({ ...times, error: 'aborted' });
    expect(await send(url, stop.signal)).toEqual({ ...times, error: 'aborted' });
    expect(receiver.received).toHaveLength(1);
  });

  test('when the sender was closed', async () => {
    const receiver = await listen(ok);
    const sender = new WebhookSender({ addresses: createEgressPolicy(['127.0.0.0/8']) });
    await sender.close();
    const { signal } = new AbortController();
    const attempt = await sender.send(`http://127.0.0.1:${receiver.port}/`, {}, BODY, signal);
    expect(attempt).toEqual({ ...times, error: 'connection' });
  });
});
