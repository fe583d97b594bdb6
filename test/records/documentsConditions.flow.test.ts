import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { TestResponse } from '../support/client.ts';
import { createEncounter, documentForm, documentLine, documentsPath } from '../support/samples.ts';
import { onSharedService } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

const id = 'report-1';

onSharedService((start) => {
  let service: TestService;
  let encounter: string;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());
  beforeEach(async () => {
    encounter = await createEncounter(service);
  });

  async function upload(headers: Record<string, string> = {}): Promise<TestResponse> {
    const encoded = new Response(documentForm({ document_id: id }));
    const type = { 'content-type': encoded.headers.get('content-type') ?? '' };
    const body = Buffer.from(await encoded.arrayBuffer());
    return service.send(documentsPath(encounter), { method: 'POST', headers: { ...type, ...headers }, body });
  }
  const remove = (headers: Record<string, string>) => service.delete(documentsPath(encounter, id), headers);
  const line = (type?: string) => documentLine(encounter, id, type);

  /** Asserts a 412 that tells the present version, if there is one. */
  function expectRefused({ status, headers, body }: TestResponse, version?: number) {
    expect({ status, body }).toMatchObject({ status: 412, body: { code: 'version_conflict' } });
    expect([body.version, headers.etag]).toEqual(
      version ? [version, `"${version}"`] : [undefined, undefined],
    );
  }

  test('an upload replaces the version that it names, and no other', async () => {
    const appended = await appendedBy(service, async () => {
      expectRefused(await upload({ 'if-match': '"1"' }));
      expectRefused(await upload({ 'if-match': '*' }));
      expect((await upload({ 'if-none-match': '*' })).status).toBe(200);
      expectRefused(await upload({ 'if-none-match': '*' }), 1);
      expectRefused(await upload({ 'if-match': '"2"' }), 1);
      expect(await upload({ 'if-match': '"1"' })).toMatchObject({ status: 200, headers: { etag: '"2"' } });
      expect(await upload({ 'if-match': 'W/"2"' })).toMatchObject({ status: 200, body: { version: 3 } });
      expect(await upload({ 'if-match': '*' })).toMatchObject({ status: 200, body: { version: 4 } });
    });
    expect(appended).toEqual([line(), line(), line(), line()]);
  });

  test('a removal removes the version that it names, and no other', async () => {
    await upload();
    const appended = await appendedBy(service, async () => {
      expectRefused(await remove({ 'if-match': '"2"' }), 1);
      expect((await remove({ 'if-match': 'W/"1"' })).status).toBe(200);
      expect((await remove({ 'if-match': '*' })).status).toBe(404);
    });
    expect(appended).toEqual([line('DocumentRemoved')]);
  });

  test('a document that was removed is not there', async () => {
    await upload();
    await remove({});
    const appended = await appendedBy(service, async () => {
      expectRefused(await upload({ 'if-match': '"2"' }));
      expectRefused(await upload({ 'if-match': '*' }));
      expect((await upload({ 'if-none-match': '*' })).body.version).toBe(3);
    });
    expect(appended).toEqual([line()]);
  });

  test('a condition in another form is refused', async () => {
    await upload();
    const appended = await appendedBy(service, async () => {
      for (const headers of [{ 'if-match': '3' }, { 'if-none-match': '"1"' }]) {
        expect((await upload(headers as Record<string, string>)).status).toBe(400);
        expect((await remove(headers as Record<string, string>)).status).toBe(400);
      }
      expectRefused(await upload({ 'if-match': '"9"' }), 1);
    });
    expect(appended).toEqual([]);
  });

  test('of several who replace the same version one wins', async () => {
    await upload();
    const appended = await appendedBy(service, async () => {
      const answers = await Promise.all([1, 2, 3, 4].map(() => upload({ 'if-match': '"1"' })));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412]);
    });
    expect(appended).toEqual([line()]);
  });
});
