import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectDocumented, fetchDocument, type OpenApi } from '../support/openapi.ts';
import { createEncounter, documentForm, documentsPath, pdf } from '../support/samples.ts';
import { onSharedService } from '../support/servers.ts';
import { accessesBy, type TestService } from '../support/service.ts';

const id = 'report-1';

onSharedService((start) => {
  let service: TestService;
  let document: OpenApi;
  let encounter: string;
  let path: string;
  const content = pdf('x'.repeat(10_000));
  const size = content.length;
  beforeAll(async () => {
    service = await start();
    document = await fetchDocument(service);
    encounter = await createEncounter(service);
    path = documentsPath(encounter, id);
    await service.upload(documentsPath(encounter), documentForm({ document_id: id, content }));
    const next = documentForm({ document_id: id, content: pdf('another') });
    await service.upload(documentsPath(encounter), next);
    path = `${path}?version=1`;
  });
  afterAll(() => service.stop());

  test.each([
    ['bytes=0-99', 0, 99],
    ['bytes=100-100', 100, 100],
    ['bytes=9000-', 9_000, size - 1],
    ['bytes=-5', size - 5, size - 1],
    ['bytes=5-99999999', 5, size - 1],
    ['bytes=0-9,10-19', 0, 19],
  ])('%s is that part', async (range, first, last) => {
    const answer = await service.get(path, { range });
    expect(answer).toMatchObject({
      status: 206,
      headers: {
        'content-range': `bytes ${first}-${last}/${size}`,
        'content-length': String(last - first + 1),
        'accept-ranges': 'bytes',
        etag: '"1"',
      },
    });
    expect(answer.bytes.equals(content.subarray(first, last + 1))).toBe(true);
    expectDocumented(document, 'downloadDocument', answer);
  });

  test.each([
    ['several parts', { range: 'bytes=0-9,20-29' }],
    ['another unit', { range: 'pages=1-2' }],
    ['no range at all', { range: 'nonsense' }],
    ['a range of another version', { range: 'bytes=0-9', 'if-range': '"2"' }],
    ['a range since a time', { range: 'bytes=0-9', 'if-range': 'Sat, 14 Mar 2026 09:30:00 GMT' }],
  ])('%s is answered with all of it', async (_, headers) => {
    const answer = await service.get(path, headers as Record<string, string>);
    expect(answer).toMatchObject({ status: 200, headers: { 'content-length': String(size) } });
    expect(answer.headers['content-range']).toBeUndefined();
    expect(answer.bytes.equals(content)).toBe(true);
  });

  test('parts go on where the version is the same', async () => {
    const headers = { range: 'bytes=10-19', 'if-range': '"1"' };
    expect((await service.get(path, headers)).bytes.equals(content.subarray(10, 20))).toBe(true);
  });

  test.each(['bytes=99999999-', `bytes=${size}-`])('%s is beyond it: 416', async (range) => {
    const answer = await service.get(path, { range });
    expect(answer).toMatchObject({
      status: 416,
      headers: { 'content-range': `bytes */${size}` },
      body: { code: 'range_not_satisfiable' },
    });
    expectDocumented(document, 'downloadDocument', answer);
  });

  test('the audit trail tells the part', async () => {
    const accesses = await accessesBy(service, async () => {
      await service.get(path, { range: 'bytes=0-99' });
      await service.send(path, { method: 'HEAD', headers: { range: 'bytes=0-99' } });
    });
    const read = { action: 'document.download', kind: 'document', record_id: encounter, document_id: id };
    expect(accesses).toEqual([
      { ...read, query: { version: 1, bytes: '0-99' } },
      { ...read, query: { version: 1 } },
    ]);
  });
});
