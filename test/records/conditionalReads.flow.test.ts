import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectDocumented, fetchDocument, type OpenApi } from '../support/openapi.ts';
import { createEncounter, documentForm, documentsPath, pathOf, paths, samples } from '../support/samples.ts';
import { accessesBy, appendedBy, refusalsBy, sharedService, type TestService } from '../support/service.ts';

let service: TestService;
let document: OpenApi;
const payer = samples.payer();
const path = pathOf('payer', payer.id);
let file: string;
beforeAll(async () => {
  service = await sharedService();
  document = await fetchDocument(service);
  for (const name of ['Aetna', 'Aetna Health']) {
    expect((await service.post(paths.payer, { ...payer, name })).status).toBe(200);
  }
  const encounter = await createEncounter(service);
  await service.upload(documentsPath(encounter), documentForm({ document_id: 'scan' }));
  file = documentsPath(encounter, 'scan');
});
afterAll(() => service.stop());

const raw = (address: string, headers: Record<string, string>, method = 'GET') =>
  fetch(new URL(address, service.url), { method, headers: { 'x-api-key': service.key ?? '', ...headers } });

test.each(['"2"', 'W/"2"', '*', ' * ', '"1", "2"', '"x,y",W/"2"'])(
  'a record whose version If-None-Match: %s names is 304, and the read is in the audit trail',
  async (known) => {
    let answer: Awaited<ReturnType<TestService['get']>> | undefined;
    const accesses = await accessesBy(service, async () => {
      answer = await service.get(path, { 'if-none-match': known });
    });
    expect([answer?.status, answer?.text, answer?.headers.etag]).toEqual([304, '', '"2"']);
    expect(accesses).toMatchObject([
      { action: 'record.read', kind: 'payer', record_id: payer.id, query: { not_modified: true } },
    ]);
  },
);

test.each(['"1"', '"22"', '2', '', '"2', 'W/"1"'])(
  'one that If-None-Match: %s does not name is read',
  async (known) => {
    const accesses = await accessesBy(service, async () => {
      const answer = await service.get(path, { 'if-none-match': known });
      expect([answer.status, answer.body.version]).toEqual([200, 2]);
    });
    expect(accesses).toHaveLength(1);
    expect(accesses[0]).not.toHaveProperty('query');
  },
);

test('an earlier version has a tag of its own', async () => {
  const at = { 'if-none-match': '"1"' };
  const accesses = await accessesBy(service, async () => {
    expect((await service.get(`${path}?version=1`, at)).status).toBe(304);
  });
  expect(accesses).toMatchObject([{ query: { version: 1, not_modified: true } }]);
  expect((await service.get(`${path}?version=2`, at)).status).toBe(200);
});

test('the tag of a compressed response is known again, and 304 has the headers of 200', async () => {
  const long = { ...samples.payer(), name: 'n'.repeat(1_000) };
  await service.post(paths.payer, long);
  const zipped = { 'accept-encoding': 'gzip' };
  const whole = await raw(pathOf('payer', long.id), zipped);
  await whole.arrayBuffer();
  const tag = whole.headers.get('etag') ?? '';
  expect(tag).toBe('W/"1"');
  const again = await raw(pathOf('payer', long.id), { ...zipped, 'if-none-match': tag });
  expect([again.status, await again.text()]).toEqual([304, '']);
  for (const name of ['etag', 'vary', 'cache-control', 'content-type']) {
    expect([name, again.headers.get(name)]).toEqual([name, whole.headers.get(name)]);
  }
});

test('what does not exist is 404, whatever the condition', async () => {
  const nobody = pathOf('payer', 'nobody');
  expect((await service.get(nobody, { 'if-none-match': '*' })).status).toBe(404);
  expect((await service.get(nobody, { 'if-match': '*' })).status).toBe(404);
});

test.each(['"2"', '*', '"1", "2"'])('with If-Match: %s it is read', async (wanted) => {
  const answer = await service.get(path, { 'if-match': wanted });
  expect([answer.status, answer.body.version]).toEqual([200, 2]);
  const both = await service.get(path, { 'if-match': wanted, 'if-none-match': '"2"' });
  expect(both.status).toBe(304);
});

test.each(['"1"', 'W/"2"', '2', '"1", "3"'])(
  'with If-Match: %s it is 412, and nothing is read',
  async (wanted) => {
    const accesses = await accessesBy(service, async () => {
      const refusals = await refusalsBy(service, async () => {
        const answer = await service.get(path, { 'if-match': wanted, 'if-none-match': '"2"' });
        expect(answer).toMatchObject({
          ...{ status: 412, headers: { etag: '"2"' } },
          body: { code: 'version_conflict', version: 2 },
        });
        expect(answer.body).not.toHaveProperty('record');
        expectDocumented(document, 'getPayer', answer);
      });
      expect(refusals).toMatchObject([{ code: 'version_conflict', record_id: payer.id }]);
    });
    expect(accesses).toEqual([]);
  },
);

test('HEAD has the same conditions', async () => {
  const appended = await appendedBy(service, async () => {
    for (const address of [path, file]) {
      const tag = (await raw(address, {}, 'HEAD')).headers.get('etag') ?? '';
      expect((await raw(address, { 'if-none-match': tag }, 'HEAD')).status).toBe(304);
      expect((await raw(address, { 'if-none-match': '"9"' }, 'HEAD')).status).toBe(200);
      expect((await raw(address, { 'if-match': '"9"' }, 'HEAD')).status).toBe(412);
    }
  });
  expect(appended).toEqual([]);
});

describe('a document', () => {
  test('is 304 without its bytes, also where a part is requested; the audit trail has the read', async () => {
    for (const headers of [{}, { range: 'bytes=0-3' }, { range: 'bytes=99999-' }]) {
      const accesses = await accessesBy(service, async () => {
        const answer = await raw(file, { ...headers, 'if-none-match': '"1"' });
        expect([answer.status, await answer.text(), answer.headers.get('etag')]).toEqual([304, '', '"1"']);
        for (const name of ['content-type', 'content-length', 'content-range', 'repr-digest']) {
          expect([name, answer.headers.get(name)]).toEqual([name, null]);
        }
      });
      expect(accesses).toMatchObject([{ action: 'document.download', query: { not_modified: true } }]);
    }
  });

  test('is sent when it has another version, in parts only if If-Match names it', async () => {
    expect((await raw(file, { 'if-none-match': '"2"' })).status).toBe(200);
    expect((await raw(file, { 'if-match': '"1"', range: 'bytes=0-3' })).status).toBe(206);
    const accesses = await accessesBy(service, async () => {
      const answer = await service.get(file, { 'if-match': '"2"', range: 'bytes=0-3' });
      expect([answer.status, answer.body.version]).toEqual([412, 1]);
      expectDocumented(document, 'downloadDocument', answer);
    });
    expect(accesses).toEqual([]);
  });
});

test.each([
  ['a record', () => `${path}/history`, 'record.history'],
  ['a document', () => `${file}/history`, 'document.history'],
])('the history of %s is 304 until it has another version', async (_what, addressOf, action) => {
  const address = addressOf();
  const first = await service.get(address);
  const tag = first.headers.etag as string;
  expect(tag).toMatch(/^"[\w-]{43}"$/);
  const accesses = await accessesBy(service, async () => {
    const again = await service.get(address, { 'if-none-match': tag });
    expect([again.status, again.text]).toEqual([304, '']);
  });
  expect(accesses).toMatchObject([{ action, query: { not_modified: true } }]);
  expect((await service.get(address, { 'if-match': '"other"' })).status).toBe(412);
  if (action === 'record.history') await service.post(paths.payer, payer);
  else await service.upload(file.replace(/\/scan$/, ''), documentForm({ document_id: 'scan' }));
  const changed = await service.get(address, { 'if-none-match': tag });
  expect([changed.status, changed.body.items.length]).toEqual([200, first.body.items.length + 1]);
});
