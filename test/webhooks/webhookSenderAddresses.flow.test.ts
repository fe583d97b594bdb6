import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createNameResolver, type ResolveName } from '../../src/modules/webhooks/sender.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/servers.ts';
import { listen, ok, senderWith, times } from '../support/webhooks.ts';

describe('an endpoint on a forbidden address is not connected to', () => {
  const loopback = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '127.0.0.1.',
    '①②⑦.0.0.1',
  ];
  const loopbackInIpv6 = ['[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]'];

  test.each(['http:', 'https:'])('over %s, however it is written', async (protocol) => {
    const receiver = await listen(ok, { host: '::' });
    const send = senderWith({ open: ['192.0.2.0/24'] });
    for (const host of [...loopback, ...loopbackInIpv6, '0.0.0.0', '0', '127.9.9.9']) {
      const attempt = await send(`${protocol}//${host}:${receiver.port}/`);
      expect([host, attempt]).toEqual([host, { ...times, error: 'refused_address' }]);
    }
    expect(receiver.connections).toBe(0);
  });

  test('though each of the forms would reach it', async () => {
    const receiver = await listen(ok);
    const send = senderWith();
    for (const host of loopback) {
      expect(await send(`http://${host}:${receiver.port}/`)).toMatchObject({ status: 200 });
    }
    expect(receiver.received).toHaveLength(loopback.length);
  });

  test.each([
    '169.254.169.254',
    '2852039166',
    '0xa9fea9fe',
    '168.63.129.16',
    '10.0.0.1',
    '[fe80::1]',
    '[fd00:ec2::254]',
    '[64:ff9b::a9fe:a9fe]',
    '[2002:7f00:1::]',
    '[::127.0.0.1]',
  ])('as %s', async (host) => {
    expect(await senderWith()(`https://${host}/latest/meta-data/`)).toEqual({
      ...times,
      error: 'refused_address',
    });
  });

  test.each([
    ['the loopback', ['127.0.0.1']],
    ['the loopback of IPv6', ['::1']],
    ['the loopback inside IPv6', ['::ffff:127.0.0.1']],
    ['any address of the machine', ['0.0.0.0']],
    ['a link-local address with a zone', ['fe80::1%lo']],
    ['a metadata service', ['169.254.169.254']],
    ['a public address and a private one', ['8.8.8.8', '127.0.0.1']],
    ['a private address and a public one', ['127.0.0.1', '2606:4700::1111']],
    ['something that is no address', ['127.1']],
    ['a name', ['localhost']],
  ])('as a name that stands for %s', async (_what, found) => {
    const receiver = await listen(ok, { host: '::' });
    const send = senderWith({ open: [], resolve: async () => found });
    for (const protocol of ['https:', 'http:']) {
      const attempt = await send(`${protocol}//hooks.example.com:${receiver.port}/`);
      expect(attempt).toEqual({ ...times, error: 'refused_address' });
    }
    expect(receiver.connections).toBe(0);
  });

  test.each(['localhost', 'LOCALHOST', 'localhost.', 'hooks.localhost'])('as %s', async (host) => {
    const receiver = await listen(ok, { host: '::' });
    const send = senderWith({ open: [], resolve: createNameResolver() });
    const attempt = await send(`https://${host}:${receiver.port}/`);
    expect(attempt).toEqual({ ...times, error: 'refused_address' });
    expect(receiver.connections).toBe(0);
  });

  test('when its name stands for another address with every look-up', async () => {
    const closing: RequestListener = (_req, res) => void res.setHeader('connection', 'close').end();
    const [victim, allowed] = await eventually(async () => {
      const port = await freePort();
      return [await listen(ok, { host: '127.0.0.2', port }), await listen(closing, { port })] as const;
    });
    const answers = [['127.0.0.1'], ['127.0.0.2'], ['127.0.0.1'], ['127.0.0.1', '127.0.0.2']];
    let lookups = 0;
    const send = senderWith({
      open: ['127.0.0.1/32'],
      resolve: async () => answers[lookups++ % answers.length] as string[],
    });
    const url = `http://hooks.example.com:${victim.port}/`;
    const outcomes = [];
    for (const _answer of answers) outcomes.push(await send(url));
    expect(outcomes.map(({ status, error }) => status ?? error)).toEqual([
      200,
      'refused_address',
      200,
      'refused_address',
    ]);
    expect([lookups, allowed.connections, victim.connections]).toEqual([4, 2, 0]);
  });

  test.each([301, 302, 303, 307, 308])('when another one redirects to it with %d', async (status) => {
    const victim = await listen(ok, { host: '127.0.0.2' });
    const targets = [
      `http://127.0.0.2:${victim.port}/`,
      'http://169.254.169.254/latest/meta-data/',
      '/again',
    ];
    const receiver = await listen((_req, res) =>
      res.writeHead(status, { location: targets[receiver.received.length - 1] as string }).end(),
    );
    const send = senderWith();
    for (const _target of targets) {
      const attempt = await send(`http://127.0.0.1:${receiver.port}/`);
      expect(attempt).toEqual({ ...times, status, error: 'redirect', answer: '' });
    }
    expect([receiver.received.length, victim.connections]).toEqual([targets.length, 0]);
  });

  test.each(['ftp://127.0.0.1/', 'file:///etc/passwd', 'unix:/run/docker.sock', 'nothing', ''])(
    'when the URL is %p',
    async (url) => {
      expect(await senderWith()(url)).toEqual({ ...times, error: 'refused_address' });
    },
  );
});

describe('over https', () => {
  const pem = (name: string) => readFileSync(`test/fixtures/tls/receiver.${name}`, 'utf8');
  const tls = { key: pem('key'), cert: pem('crt') };
  const resolve: ResolveName = async () => ['127.0.0.1'];
  const trusted = getCACertificates('default');

  test('an endpoint is sent nothing unless its certificate is trusted and bears its name', async () => {
    const receiver = await listen(ok, { tls });
    const send = senderWith({ resolve });
    const [named, otherwise] = ['receiver.test', 'other.test'].map(
      (host) => `https://${host}:${receiver.port}/`,
    );
    expect(await send(named as string)).toEqual({ ...times, error: 'tls' });
    setDefaultCACertificates([...trusted, tls.cert]);
    onTestFinished(() => setDefaultCACertificates(trusted));
    expect(await send(otherwise as string)).toEqual({ ...times, error: 'tls' });
    expect(receiver.received).toEqual([]);
    expect(await send(named as string)).toEqual({ ...times, status: 200, answer: 'ok' });
  });

  test('an endpoint that speaks no TLS is sent nothing', async () => {
    const receiver = await listen(ok);
    expect(await senderWith()(`https://127.0.0.1:${receiver.port}/`)).toEqual({ ...times, error: 'tls' });
    expect(receiver.received).toEqual([]);
  });
});
