import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { phi } from '../support/output.ts';
import { createEncounter, documentForm, documentLine, documentsPath, docx, pdf } from '../support/samples.ts';
import { onSharedService } from '../support/servers.ts';
import { appendedBy, newEvents, type TestService } from '../support/service.ts';

/** Spec section 2.7. */
const categories = [
  'radiology_report',
  'lab_results',
  'diagnostic_report',
  'progress_report',
  'discharge_summary',
  'doctor_notes',
  'medical_record',
  'patient_history',
  'immunization_report',
  'referral',
  'consent_form',
];
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

onSharedService((start) => {
  let service: TestService;
  let encounter: string;
  beforeAll(async () => {
    service = await start();
    encounter = await createEncounter(service);
  });
  afterAll(() => service.stop());

  const upload = (form: FormData, id = encounter) => service.upload(documentsPath(id), form);

  test.each(categories)('takes the category %s', async (category) => {
    const id = phi('document');
    const appended = await appendedBy(service, async () => {
      const uploaded = await upload(documentForm({ document_id: id, category }));
      expect(uploaded).toMatchObject({ status: 200, body: { success: true, document_id: id, version: 1 } });
      expect(uploaded.headers.etag).toBe('"1"');
    });
    expect(appended).toEqual([documentLine(encounter, id)]);
  });

  test('the event holds the size and the SHA-256, and the download is the same bytes', async () => {
    const id = phi('document');
    const content = docx({ deflate: true, more: [['word/media/a.bin', Buffer.alloc(300_000, 'x')]] });
    const filename = `${phi('Bericht')} für Ü (100%)'s.docx`;
    const [event] = await newEvents(service, () =>
      upload(documentForm({ document_id: id, content, filename })),
    );
    expect(event).toMatchObject({
      type: 'DocumentUploaded',
      data: {
        encounter_id: encounter,
        document_id: id,
        category: 'lab_results',
        filename,
        format: 'docx',
        size: content.length,
        sha256: sha256(content),
      },
    });
    const download = await service.get(documentsPath(encounter, id));
    expect(download.status).toBe(200);
    expect(download.bytes.equals(content)).toBe(true);
    const rfc8187 = encodeURIComponent(filename).replace('(', '%28').replace(')', '%29').replace("'", '%27');
    const digest = createHash('sha256').update(content).digest('base64');
    expect(download.headers).toMatchObject({
      'content-type': 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
      'content-length': String(content.length),
      'content-disposition': `attachment; filename*=UTF-8''${rfc8187}`,
      'repr-digest': `sha-256=:${digest}:`,
      etag: '"1"',
    });
    const head = await service.send(documentsPath(encounter, id), { method: 'HEAD' });
    expect(head).toMatchObject({ status: 200, text: '' });
    expect(head.headers['content-length']).toBe(String(content.length));
  });

  test('a second upload under the same id replaces the first', async () => {
    const id = phi('document');
    const appended = await appendedBy(service, async () => {
      await upload(documentForm({ document_id: id, content: pdf('first') }));
      const second = documentForm({ document_id: id, content: pdf('second'), category: 'referral' });
      expect((await upload(second)).body).toEqual({
        success: true,
        document_id: id,
        version: 2,
        warnings: [],
      });
    });
    expect(appended).toEqual([documentLine(encounter, id), documentLine(encounter, id)]);
    const download = await service.get(documentsPath(encounter, id));
    expect(download.text).toBe(pdf('second').toString());
    expect(download.headers.etag).toBe('"2"');
    const list = await service.get(documentsPath(encounter));
    const listed = list.body.items.filter((item: { document_id: string }) => item.document_id === id);
    expect(listed).toEqual([
      expect.objectContaining({ category: 'referral', sha256: sha256(pdf('second')), version: 2 }),
    ]);
  });

  test('a removed document is gone at once, and can be uploaded anew', async () => {
    const id = phi('document');
    const own = await createEncounter(service);
    const path = documentsPath(own, id);
    const appended = await appendedBy(service, async () => {
      await upload(documentForm({ document_id: id }), own);
      expect((await service.get(documentsPath(own))).body.items).toHaveLength(1);
      const removed = await service.delete(path);
      expect(removed).toMatchObject({ status: 200, body: { success: true, message: expect.any(String) } });
      expect((await service.get(documentsPath(own))).body).toEqual({
        items: [],
        next_page_token: null,
        unreadable: [],
      });
      expect(await service.get(path)).toMatchObject({ status: 404, body: { code: 'not_found' } });
      expect(await service.delete(path)).toMatchObject({ status: 404, body: { code: 'not_found' } });
      expect((await upload(documentForm({ document_id: id }), own)).body.version).toBe(3);
    });
    expect(appended).toEqual([
      documentLine(own, id),
      documentLine(own, id, 'DocumentRemoved'),
      documentLine(own, id),
    ]);
    expect((await service.get(path)).status).toBe(200);
    expect((await service.get(documentsPath(own))).body.items).toHaveLength(1);
  });

  test('a list tells all of each document but its bytes, page by page', async () => {
    const own = await createEncounter(service);
    const ids = ['one', 'two', 'three'].map(phi);
    for (const document_id of ids) await upload(documentForm({ document_id }), own);
    const first = await service.get(`${documentsPath(own)}?limit=2`);
    expect(first.body.items[0]).toEqual({
      document_id: ids[0],
      category: 'lab_results',
      filename: 'report.pdf',
      content_type: 'application/pdf',
      size: pdf().length,
      sha256: sha256(pdf()),
      version: 1,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    const rest = await service.get(`${documentsPath(own)}?limit=2&page_token=${first.body.next_page_token}`);
    const listed = [...first.body.items, ...rest.body.items].map(({ document_id }) => document_id);
    expect(listed).toEqual(ids);
    expect(rest.body.next_page_token).toBeNull();
  });

  describe('ids that paths treat in ways of their own', () => {
    test.each(['a/b', '..', '.', '%2F', 'ü', '🩺', 'a b?c#d', '日本'])('%s', async (hard) => {
      const own = await createEncounter(service, `${hard}/${phi('encounter')}`);
      const id = `${hard}`;
      const appended = await appendedBy(service, async () => {
        expect((await upload(documentForm({ document_id: id, content: pdf(own) }), own)).status).toBe(200);
        expect((await service.get(documentsPath(own, id))).text).toBe(pdf(own).toString());
        expect((await service.get(documentsPath(own))).body.items[0].document_id).toBe(id);
        expect((await service.delete(documentsPath(own, id))).status).toBe(200);
      });
      expect(appended).toEqual([documentLine(own, id), documentLine(own, id, 'DocumentRemoved')]);
    });

    test('a/b with c, and a with b/c, are two documents', async () => {
      const stem = phi('encounter');
      for (const id of [`${stem}/b`, stem]) await createEncounter(service, id);
      await upload(documentForm({ document_id: 'c', content: pdf('one') }), `${stem}/b`);
      await upload(documentForm({ document_id: 'b/c', content: pdf('two') }), stem);
      expect((await service.get(documentsPath(`${stem}/b`, 'c'))).text).toBe(pdf('one').toString());
      expect((await service.get(documentsPath(stem, 'b/c'))).text).toBe(pdf('two').toString());
    });
  });

  test('an unknown encounter is 404 everywhere, and nothing is appended', async () => {
    const nowhere = phi('encounter');
    const appended = await appendedBy(service, async () => {
      const answers = [
        await upload(documentForm(), nowhere),
        await service.get(documentsPath(nowhere)),
        await service.get(documentsPath(nowhere, 'document-1')),
        await service.delete(documentsPath(nowhere, 'document-1')),
        await upload(documentForm(), 'x'.repeat(256)),
      ];
      for (const answer of answers) {
        expect(answer).toMatchObject({
          status: 404,
          body: { error: expect.any(String), code: 'not_found' },
        });
      }
    });
    expect(appended).toEqual([]);
  });

  test("another workspace's documents and encounters do not exist", async () => {
    const id = phi('document');
    await upload(documentForm({ document_id: id }));
    const stranger = service.as((await service.createKey('elsewhere')).key);
    const appended = await appendedBy(service, async () => {
      expect((await stranger.get(documentsPath(encounter))).status).toBe(404);
      expect((await stranger.get(documentsPath(encounter, id))).status).toBe(404);
      expect((await stranger.delete(documentsPath(encounter, id))).status).toBe(404);
      expect((await stranger.upload(documentsPath(encounter), documentForm())).status).toBe(404);
    });
    expect(appended).toEqual([]);
    expect((await service.get(documentsPath(encounter, id))).status).toBe(200);
  });
});
