import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { notePhi, phi } from '../support/output.ts';
import {
  minimal,
  pathOf,
  paths,
  type Referred,
  type SpecKind,
  samples,
  upsertReferred,
} from '../support/samples.ts';
import { onSharedService } from '../support/servers.ts';
import { appendedBy, newEvents, type TestService } from '../support/service.ts';

const kinds = Object.keys(paths) as SpecKind[];

onSharedService((start) => {
  let service: TestService;
  let referred: Referred;
  beforeAll(async () => {
    service = await start();
    referred = await upsertReferred(service);
  });
  afterAll(() => service.stop());

  test.each(kinds)('a %s is read back with its version, ETag and times', async (kind) => {
    const sent = minimal(kind, referred);
    const events = await newEvents(service, async () => {
      await service.post(paths[kind], sent);
      await service.post(paths[kind], sent);
    });
    const appended = await appendedBy(service, async () => {
      const { status, headers, body } = await service.get(pathOf(kind, sent.id));
      expect(status).toBe(200);
      expect(headers.etag).toBe('"2"');
      expect(body).toEqual({
        id: sent.id,
        version: 2,
        created_at: events[0]?.recordedAt,
        updated_at: events[1]?.recordedAt,
        record: kind === 'encounter' ? sent : { ...sent, country: 'US' },
      });
    });
    expect(appended).toEqual([]);
  });

  test('a read includes the write that was acknowledged just before it', async () => {
    const payer = samples.payer();
    for (let version = 1; version <= 100; version++) {
      const name = phi(`Aetna ${version}`);
      await service.post(paths.payer, { ...payer, name });
      const { body } = await service.get(pathOf('payer', payer.id));
      expect(body).toMatchObject({ version, record: { name } });
    }
  });

  test.each(kinds)('a %s that does not exist is 404', async (kind) => {
    const appended = await appendedBy(service, async () => {
      for (const id of [phi('nowhere'), 'x'.repeat(256), 'a\nb']) {
        const { status, body, text } = await service.get(pathOf(kind, id));
        expect({ status, body }).toMatchObject({ status: 404, body: { code: 'not_found' } });
        expect(text).not.toContain(id);
      }
    });
    expect(appended).toEqual([]);
  });

  test('a record of another workspace is 404', async () => {
    const payer = samples.payer();
    await service.post(paths.payer, payer);
    const other = service.as((await service.createKey('other')).key);
    expect((await other.get(pathOf('payer', payer.id))).status).toBe(404);
    expect((await other.get(paths.payer)).body.items).toEqual([]);
  });

  test.each(['write', 'events'] as const)(
    'a key with the permission %s alone reads nothing',
    async (permission) => {
      const { key } = await service.createKey('clinic', [permission]);
      const client = service.as(key);
      for (const path of [pathOf('payer', referred.payer), ...Object.values(paths)]) {
        const { status, body } = await client.get(path);
        expect({ status, body }).toMatchObject({ status: 403, body: { code: 'permission_denied' } });
      }
    },
  );

  test('a key that may only read writes nothing', async () => {
    const client = service.as((await service.createKey('clinic', ['read'])).key);
    const appended = await appendedBy(service, async () => {
      for (const kind of kinds) {
        const { status, body } = await client.post(paths[kind], minimal(kind, referred));
        expect({ status, body }).toMatchObject({ status: 403, body: { code: 'permission_denied' } });
      }
    });
    expect(appended).toEqual([]);
    expect((await client.get(pathOf('payer', referred.payer))).status).toBe(200);
  });

  describe('an id comes back from its path', () => {
    async function roundTrip(kind: SpecKind, id: string): Promise<void> {
      const sent = { ...minimal(kind, referred), id };
      const appended = await appendedBy(service, async () => {
        expect((await service.post(paths[kind], sent)).status).toBe(200);
      });
      expect(appended).toHaveLength(1);
      const { status, body } = await service.get(pathOf(kind, id));
      expect({ status, id: body.id, record: body.record }).toMatchObject({ status: 200, id, record: sent });
    }

    test.each([
      ...[
        'a/b',
        '/',
        '..',
        '.',
        '../..',
        '%2F',
        '%',
        '%zz',
        '?a=b',
        '#a',
        'a b',
        ' ',
        '+',
        'a\\b',
        '"',
        "'",
        '<b>',
      ],
      ...[
        'ü',
        'u\u0308',
        '😀',
        '漢字',
        '\u2028',
        '\ufeff',
        '__proto__',
        'constructor',
        'null',
        '0',
        '-1',
        'a:b',
        'a;b',
      ],
      ...['x'.repeat(255), 'ü'.repeat(255), '😀'.repeat(255), '/'.repeat(255), '%'.repeat(255)],
    ])('%j', async (id) => {
      for (const kind of kinds) await roundTrip(kind, id);
    });

    test('any other', async () => {
      const anyId = fc
        .string({ minLength: 1, maxLength: 255, unit: 'binary' })
        .filter((id) => id.isWellFormed() && !/\p{Cc}/u.test(id) && [...id].length <= 255);
      await fc.assert(
        fc.asyncProperty(anyId, (id) => {
          notePhi(id);
          return roundTrip('payer', id);
        }),
        { numRuns: 50 },
      );
    });

    test('records whose ids differ only in form or case are different records', async () => {
      const ids = ['é', 'e\u0301', 'É', 'a/b', 'a%2Fb', 'a%2fb', 'A/B', 'a', 'a ', ' a'];
      const tag = phi('form');
      for (const id of ids) await service.post(paths.facility, { id: tag + id, name: `name of ${id}` });
      for (const id of ids) {
        const { body } = await service.get(pathOf('facility', tag + id));
        expect(body).toMatchObject({ id: tag + id, version: 1, record: { name: `name of ${id}` } });
      }
    });
  });
});
