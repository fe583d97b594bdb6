import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDocumentStore } from '../../src/server/openStorage.ts';
import type { DocumentStore } from '../../src/storage/documentStore.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { createEncounter, documentForm, documentsPath, pdf } from '../support/samples.ts';
import { onSharedService } from '../support/servers.ts';
import { accessesBy, appendedBy, newEvents, type TestService } from '../support/service.ts';

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

onSharedService((start) => {
  let service: TestService;
  let documentStore: DocumentStore;
  let encounter: string;
  beforeAll(async () => {
    service = await start();
    documentStore = await openDocumentStore(service.config.documentsUrl);
    encounter = await createEncounter(service);
  });
  afterAll(() => Promise.all([service.stop(), documentStore.close()]));

  /** Uploads a document twice and removes it: versions 1, 2 and 3. */
  async function uploadReplaceRemove() {
    const id = phi('document');
    const contents = [pdf(phi('first')), pdf(phi('second'))];
    const filename = `${phi('report')}.pdf`;
    const path = documentsPath(encounter, id);
    const events = await newEvents(service, async () => {
      for (const content of contents) {
        const form = documentForm({ document_id: id, content, filename, category: 'referral' });
        await service.upload(documentsPath(encounter), form);
      }
      await service.delete(path);
    });
    return { id, path, contents, filename, events };
  }

  test('every version tells who, when and which file, also after the removal', async () => {
    const { path, contents, filename, events } = await uploadReplaceRemove();
    const [removal, second, first] = events.toReversed().map((event) => ({
      version: event.revision + 1,
      event_id: event.id,
      type: event.type,
      recorded_at: event.recordedAt,
      principal: { ...event.metadata.principal, name: 'Test key' },
      client_ip: '127.0.0.1',
      user_agent: null,
      request_id: event.id,
    }));
    const file = (content: Buffer) => ({
      category: 'referral',
      filename,
      content_type: 'application/pdf',
      size: content.length,
      sha256: sha256(content),
      content_available: true,
    });
    const noFile = { category: null, filename: null, content_type: null, size: null, sha256: null };
    const appended = await appendedBy(service, async () => {
      expect((await service.get(`${path}/history`)).body).toEqual({
        items: [
          { ...removal, ...noFile, content_available: false },
          { ...second, ...file(contents[1] as Buffer) },
          { ...first, ...file(contents[0] as Buffer) },
        ],
        next_page_token: null,
      });
    });
    expect(appended).toEqual([]);
  });

  test('pages are read newest first', async () => {
    const { path } = await uploadReplaceRemove();
    const newest = (await service.get(`${path}/history?limit=2`)).body;
    expect(newest.items.map(({ version }: { version: number }) => version)).toEqual([3, 2]);
    const oldest = (await service.get(`${path}/history?limit=2&page_token=${newest.next_page_token}`)).body;
    expect(oldest.items.map(({ version }: { version: number }) => version)).toEqual([1]);
    expect(oldest.next_page_token).toBeNull();
  });

  describe('the bytes', () => {
    test('of each version are there while they are kept', async () => {
      const { path, contents } = await uploadReplaceRemove();
      for (const [at, content] of contents.entries()) {
        const { status, bytes, headers } = await service.get(`${path}?version=${at + 1}`);
        expect({ status, text: bytes.toString() }).toEqual({ status: 200, text: content.toString() });
        expect(headers).toMatchObject({
          etag: `"${at + 1}"`,
          'content-type': 'application/pdf',
          'content-length': String(content.length),
        });
      }
      const removed = await service.get(`${path}?version=3`);
      const error = 'The document was removed in version 3.';
      expect(removed).toMatchObject({ status: 404, body: { code: 'not_found', error } });
      expect((await service.get(`${path}?version=4`)).body.error).toBe('The document has no version 4.');
    });

    test('at a moment are those of the last version before it', async () => {
      const id = phi('document');
      const path = documentsPath(encounter, id);
      const upload = async (content: Buffer) => {
        await service.upload(documentsPath(encounter), documentForm({ document_id: id, content }));
        return (await service.get(`${path}/history?limit=1`)).body.items[0].recorded_at as string;
      };
      const [first, second] = [pdf(phi('first')), pdf(phi('second'))];
      const began = await upload(first);
      await eventually(async () => expect((await upload(second)) > began).toBe(true));
      expect((await service.get(`${path}?as_of=${began}`)).text).toBe(first.toString());
      expect((await service.get(`${path}?as_of=2999-01-01`)).text).toBe(second.toString());
      const early = await service.get(`${path}?as_of=1999-12-31T23:59:59Z`);
      expect(early).toMatchObject({ status: 404, body: { code: 'not_found' } });
    });

    test('that were purged are told as gone, and are 404', async () => {
      const { path, contents, events } = await uploadReplaceRemove();
      await documentStore.delete(events[0]?.data.object_id as string);
      const { items } = (await service.get(`${path}/history`)).body;
      expect(items.map((item: Record<string, unknown>) => item.content_available)).toEqual([
        false,
        true,
        false,
      ]);
      expect(items[2]).toMatchObject({ sha256: sha256(contents[0] as Buffer) });
      const gone = await service.get(`${path}?version=1`);
      const error = 'The document is no longer stored.';
      expect(gone).toMatchObject({ status: 404, body: { code: 'not_found', error } });
      expect((await service.get(`${path}?version=2`)).text).toBe(contents[1]?.toString());
    });
  });

  test('every read is in the audit trail; what is refused is not', async () => {
    const { id, path } = await uploadReplaceRemove();
    const stranger = service.as((await service.createKey('elsewhere')).key);
    const writer = service.as((await service.createKey('clinic', ['write'])).key);
    const accesses = await accessesBy(service, async () => {
      await service.get(`${path}/history?limit=7`);
      await service.get(`${path}?version=1`);
      for (const suffix of ['/history', '?version=1']) {
        expect((await stranger.get(path + suffix)).status).toBe(404);
        expect((await writer.get(path + suffix)).status).toBe(403);
      }
      expect((await service.get(`${path}?version=3`)).status).toBe(404);
      expect((await service.get(`${path}?version=1&as_of=2026-01-01`)).status).toBe(400);
      expect((await service.get(`${documentsPath(encounter, phi('none'))}/history`)).status).toBe(404);
    });
    const document = { kind: 'document', record_id: encounter, document_id: id };
    expect(accesses).toEqual([
      { action: 'document.history', ...document, query: { limit: 7 } },
      { action: 'document.download', ...document, query: { version: 1 } },
    ]);
  });
});
