import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../support/client.ts';
import { eventsOf } from '../support/log.ts';
import { pathOf, paths, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, sharedService, type TestService } from '../support/service.ts';

const MEGABYTE = 1024 * 1024;
const gzip = { 'accept-encoding': 'gzip' };

onEmbeddedEngines(() => {
  let service: TestService;
  let client: Client;
  const payer = { ...samples.payer(), website: `payer.example/${'x'.repeat(900)}` };
  const small = samples.payer();
  beforeAll(async () => {
    service = await sharedService();
    client = service.as((await service.createKey('clinic', ['write', 'read', 'events'])).key);
    await client.post(paths.payer, payer);
    await client.post(paths.payer, small);
  });
  afterAll(() => service.stop());

  describe('answers', () => {
    test.each([paths.payer, pathOf('payer', payer.id), '/openapi/json', '/asyncapi/json', '/events'])(
      'of %s are compressed for who takes that, and say that they depend on it',
      async (path) => {
        const plain = await client.get(path);
        expect(plain.headers['content-encoding']).toBeUndefined();
        expect(String(plain.headers.vary)).toContain('Accept-Encoding');
        const { status, bytes, headers } = await client.get(path, gzip);
        expect({ status, headers }).toMatchObject({ status: 200, headers: { 'content-encoding': 'gzip' } });
        expect(String(headers.vary)).toContain('Accept-Encoding');
        expect(gunzipSync(bytes).toString()).toBe(plain.text);
        expect(bytes.length).toBeLessThan(plain.bytes.length);
        const head = await client.send(path, { method: 'HEAD', headers: gzip });
        expect([head.status, head.text]).toEqual([200, '']);
      },
    );

    test.each(['identity', 'gzip;q=0', 'br', 'deflate', 'gzip;q=0.1, identity', ''])(
      'are not compressed for Accept-Encoding: %s',
      async (accepted) => {
        const { headers, body } = await client.get(paths.payer, { 'accept-encoding': accepted });
        expect(headers['content-encoding']).toBeUndefined();
        expect(body.items).toHaveLength(2);
      },
    );

    test('of less than 1 KB are never compressed', async () => {
      const { headers, body } = await client.get(pathOf('payer', small.id), gzip);
      expect([headers['content-encoding'], headers.vary]).toEqual([undefined, undefined]);
      expect(body.id).toBe(small.id);
    });

    test('bear a weak tag, which is taken as a condition', async () => {
      const { headers } = await client.get(pathOf('payer', payer.id), gzip);
      expect(headers.etag).toBe('W/"1"');
      const appended = await appendedBy(service, async () => {
        const { status } = await client.post(paths.payer, payer, { 'if-match': String(headers.etag) });
        expect(status).toBe(200);
      });
      expect(appended).toHaveLength(1);
      const schemas = await client.get('/asyncapi/json', gzip);
      const again = { ...gzip, 'if-none-match': String(schemas.headers.etag) };
      expect((await client.get('/asyncapi/json', again)).status).toBe(304);
    });

    test('that go on are not compressed, nor are refusals that are short', async () => {
      expect(eventsOf(await client.get('/events', { ...gzip, 'accept-encoding': 'identity' }))).not.toEqual(
        [],
      );
      const { headers } = await client.get(`${paths.payer}/none`, gzip);
      expect(headers['content-encoding']).toBeUndefined();
    });
  });

  describe('an upsert', () => {
    const send = (body: Buffer, encoding = 'gzip') =>
      client.send(paths.payer, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-encoding': encoding },
        body,
      });

    test.each(['gzip', 'x-gzip', 'GZIP'])('is taken with Content-Encoding: %s', async (encoding) => {
      const sent = samples.payer();
      const appended = await appendedBy(service, async () => {
        const { status } = await send(gzipSync(JSON.stringify(sent)), encoding);
        expect(status).toBe(200);
      });
      expect(appended).toEqual([`clinic.payer-${sent.id}: PayerUpserted`]);
    });

    test('of exactly 1 MB before it was compressed is taken, one of more is not', async () => {
      const sent = samples.payer();
      const bare = JSON.stringify({ ...sent, filler: '' });
      const body = (length: number) =>
        gzipSync(JSON.stringify({ ...sent, filler: 'f'.repeat(length - bare.length) }));
      const appended = await appendedBy(service, async () => {
        expect((await send(body(MEGABYTE))).status).toBe(200);
        for (const length of [MEGABYTE + 1, 100 * MEGABYTE]) {
          const { status, body: answer } = await send(body(length));
          expect({ status, answer }).toMatchObject({ status: 413, answer: { code: 'payload_too_large' } });
        }
      });
      expect(appended).toHaveLength(1);
    });

    test.each([
      ['no gzip at all', Buffer.from(JSON.stringify(small)), 400],
      ['gzip that breaks off', gzipSync(JSON.stringify(small)).subarray(0, -9), 400],
      ['gzip of no JSON', gzipSync('hello'), 400],
      ['nothing', Buffer.alloc(0), 400],
    ])('of %s is refused', async (_, body, expected) => {
      const appended = await appendedBy(service, async () => {
        const { status, body: answer } = await send(body);
        expect({ status, answer }).toMatchObject({ status: expected, answer: { code: 'malformed_body' } });
      });
      expect(appended).toEqual([]);
    });

    test('compressed otherwise is refused with 415', async () => {
      expect((await send(Buffer.from('{}'), 'br')).status).toBe(415);
      expect((await send(gzipSync('{}'), 'gzip, gzip')).status).toBe(415);
    });
  });
});
