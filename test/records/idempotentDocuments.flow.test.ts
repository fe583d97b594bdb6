import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectFirst, expectReplay, isReplayed, keyed } from '../support/log.ts';
import { phi } from '../support/output.ts';
import { createEncounter, documentForm, documentLine, documentsPath, pdf } from '../support/samples.ts';
import { onSharedService } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

onSharedService((start) => {
  let service: TestService;
  let encounter: string;
  beforeAll(async () => {
    service = await start();
    encounter = await createEncounter(service);
  });
  afterAll(() => service.stop());

  const upload = (form: Parameters<typeof documentForm>[0], headers: Record<string, string>) =>
    service.upload(documentsPath(encounter), documentForm(form), headers);

  test('an upload that is sent again is answered as the first one, whatever came in between', async () => {
    const document_id = phi('document');
    const headers = keyed();
    const appended = await appendedBy(service, async () => {
      const first = expectFirst(await upload({ document_id }, headers));
      expect(first).toMatchObject({ headers: { etag: '"1"' }, body: { document_id, version: 1 } });
      expectReplay(await upload({ document_id }, headers), first);
      const other = await service.another({});
      const again = other.upload(documentsPath(encounter), documentForm({ document_id }), headers);
      expectReplay(await again, first);
      await other.stop();
      expectFirst(await upload({ document_id, content: pdf('other') }, keyed()));
      expectReplay(await upload({ document_id }, headers), first);
    });
    const line = documentLine(encounter, document_id);
    expect(appended).toEqual([line, line]);
    expect((await service.get(documentsPath(encounter, document_id))).bytes).toEqual(pdf('other'));
  });

  test('an upload of other bytes, fields or name with the same key is refused', async () => {
    const document_id = phi('document');
    const headers = keyed();
    const appended = await appendedBy(service, async () => {
      expectFirst(await upload({ document_id }, headers));
      for (const other of [
        { content: pdf('other') },
        { category: 'consent_form' },
        { document_id: phi('document') },
        { filename: 'other.pdf' },
      ]) {
        const answer = await upload({ document_id, ...other }, headers);
        expect(answer).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } });
      }
      const conditional = await upload({ document_id }, { ...headers, 'if-match': '"1"' });
      expect(conditional.status).toBe(422);
    });
    expect(appended).toEqual([documentLine(encounter, document_id)]);
  });

  test('of uploads with one key at once, one is stored', async () => {
    const document_id = phi('document');
    const headers = keyed();
    const appended = await appendedBy(service, async () => {
      const answers = await Promise.all(Array.from({ length: 10 }, () => upload({ document_id }, headers)));
      const stored = answers.filter(({ status }) => status === 200);
      expect(stored.filter((answer) => !isReplayed(answer))).toHaveLength(1);
      for (const { status } of answers) expect([200, 409]).toContain(status);
    });
    expect(appended).toEqual([documentLine(encounter, document_id)]);
  });

  test('a refused upload leaves its key free', async () => {
    const document_id = phi('document');
    const headers = keyed();
    const appended = await appendedBy(service, async () => {
      for (const refused of [
        await upload({ document_id, category: 'none' }, headers),
        await upload({ document_id, content: Buffer.from('no document') }, headers),
        await service.upload(documentsPath(phi('encounter')), documentForm({ document_id }), headers),
        await upload({ document_id }, { ...headers, 'if-match': '"7"' }),
      ]) {
        expect([400, 404, 412]).toContain(refused.status);
      }
      const first = expectFirst(await upload({ document_id }, headers));
      expectReplay(await upload({ document_id }, headers), first);
    });
    expect(appended).toEqual([documentLine(encounter, document_id)]);
  });

  test('a removal that is sent again is answered as the first one', async () => {
    const document_id = phi('document');
    const path = documentsPath(encounter, document_id);
    const appended = await appendedBy(service, async () => {
      await upload({ document_id }, {});
      const headers = { ...keyed(), 'if-match': '"1"' };
      const first = expectFirst(await service.delete(path, headers));
      expectReplay(await service.delete(path, headers), first);
      expect((await service.delete(path, keyed())).status).toBe(404);
      await upload({ document_id }, {});
      expectReplay(await service.delete(path, headers), first);
      expect((await service.delete(path, { ...headers, 'if-match': '*' })).status).toBe(422);
    });
    const [uploaded, removed] = [
      documentLine(encounter, document_id),
      documentLine(encounter, document_id, 'DocumentRemoved'),
    ];
    expect(appended).toEqual([uploaded, removed, uploaded]);
    expect((await service.get(path)).status).toBe(200);
  });
});
