import { afterAll, beforeAll, expect, test } from 'vitest';
import { sendBatch } from '../support/client.ts';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { createEncounter, documentForm, documentsPath, pdf, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, type TestService } from '../support/service.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  let visitor: BrowserlessSession;
  beforeAll(async () => {
    service = await start();
    ({ visitor } = await signedIn(service, 'compliance'));
  });
  afterAll(() => service.stop());

  const root = () => `/workspaces/${service.workspaceId('clinic')}`;
  /** The text of a page; lists are 503 while a busy machine's read model is behind. */
  const show = (path: string) =>
    eventually(async () => {
      const { status, text } = await visitor.get(root() + path);
      expect(status).toBe(200);
      return text;
    });
  const totalIn = (page: string) => /<p class="muted">([\d,+]+ [a-z ]+)<\/p>/.exec(page)?.[1];

  test('lists say how many they have, as far as an index tells', async () => {
    await createEncounter(service);
    expect(totalIn(await show('/records?kind=encounters'))).toBe('1 encounter');
    const [patient, other] = [samples.patient(), samples.patient()];
    for (const one of [patient, other]) await service.post('/integration/patients', one);
    const visit = (patient_id: string, date_of_service: string) =>
      service.post('/integration/encounters', { id: phi('encounter'), patient_id, date_of_service });
    for (const day of ['2026-03-14', '2026-03-15']) await visit(patient.id, day);
    expect(totalIn(await show('/records?kind=encounters'))).toBe('3 encounters');
    const ofPatient = `/records?kind=encounters&patient_id=${patient.id}`;
    expect(totalIn(await show(ofPatient))).toBe('2 encounters');
    expect(totalIn(await show(`${ofPatient}&is_completed=false`))).toBeUndefined();
    expect(totalIn(await show('/records?kind=encounters&date_of_service_from=2026-03-15'))).toBeUndefined();

    const lines = Array.from({ length: 1_001 }, () => ({ kind: 'payer', record: samples.payer() }));
    expect((await sendBatch(service, lines)).status).toBe(200);
    expect(totalIn(await show('/records?kind=payers'))).toBe('1,000+ payers');

    for (const field of ['date_of_birth', 'date_of_birth', 'ssn_last4']) {
      const refused = { ...samples.patient(), [field]: phi('none') };
      expect((await service.post('/integration/patients', refused)).status).toBe(400);
    }
    expect(totalIn(await show('/requests'))).toBe('3 refused requests');
    expect(totalIn(await show('/requests?field=ssn_last4'))).toBe('1 refused request');
    expect(totalIn(await show('/requests?field=date_of_birth&code=validation_failed'))).toBeUndefined();
    expect(totalIn(await show('/requests?from=2020-01-01T00:00:00'))).toBeUndefined();
  });

  test('a list is sorted by the titles of its columns, whatever else is asked for', async () => {
    const made = [samples.facility(), samples.facility()];
    for (const facility of made) await service.post('/integration/facilities', facility);
    const listed = (page: string) =>
      [...page.matchAll(/<th scope="row"[^>]*><a [^>]*><bdi>([^<]+)/g)].map(([, name]) => name);
    const names = made.map(({ name }) => name);
    const newest = await show('/records?kind=facilities');
    expect(listed(newest)).toEqual(names.toReversed());
    expect(newest).toMatch(/<th scope="col" aria-sort="descending"><a [^>]*>Last change/);
    const [, href = ''] = /<th scope="col"><a href="([^"]+)">Created/.exec(newest) ?? [];
    const path = href.replaceAll('&amp;', '&').replace(`/dashboard${root()}`, '');
    expect(path).toBe('/records?kind=facilities&sort=created_at#list');
    const oldest = await show(path.replace('#list', ''));
    expect(listed(oldest)).toEqual(names);
    expect(oldest).toMatch(/<th scope="col" aria-sort="ascending"><a [^>]*>Created/);
    const encounters = await show('/records?kind=encounters&is_completed=false');
    expect(encounters).toMatch(
      /href="[^"]*kind=encounters&(?:amp;)?is_completed=false&(?:amp;)?sort=-updated_at#list"/,
    );
    expect(encounters).not.toContain('>Created<');
    const sorted = await show('/records?kind=encounters&sort=created_at');
    expect(sorted).toMatch(/<th scope="col" aria-sort="ascending"><a [^>]*>Created/);
  });

  test('a PDF is previewed when that is asked for, in a frame of this dashboard alone, and audited as a download', async () => {
    const encounter = await createEncounter(service);
    const content = pdf('preview');
    const form = documentForm({ content, filename: 'report "für".pdf' });
    expect((await service.upload(documentsPath(encounter), form)).status).toBe(200);
    const id = String(form.get('document_id'));
    expect(totalIn(await show(`/records/encounters/${encounter}/documents`))).toBe('1 document');
    const path = `/records/encounters/${encounter}/documents/${id}`;
    const subject = { kind: 'document', record_id: encounter, document_id: id };
    const looked = await accessesBy(service, async () => {
      expect(await show(path)).not.toContain('<iframe');
      const page = await show(`${path}?preview=1`);
      expect(page).toContain(
        `<iframe class="preview no-print" src="/dashboard${root()}${path}/preview?version=1"`,
      );
      expect(await show(`${path}?preview=7`)).not.toContain('<iframe');
    });
    expect(looked.map(({ action }) => action).filter((action) => action !== 'record.list')).toEqual(
      Array(3).fill('document.history'),
    );
    const accesses = await accessesBy(service, async () => {
      const { headers, body, text } = await visitor.get(`${root()}${path}/preview?version=1`);
      expect(text ?? String(body)).toBe(content.toString());
      expect(headers).toMatchObject({
        'content-type': 'application/pdf',
        'content-disposition': expect.stringMatching(/^inline; filename=/),
        'content-security-policy': expect.stringContaining("default-src 'none'"),
        'x-frame-options': 'SAMEORIGIN',
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
      });
      expect(headers['content-security-policy']).toContain("frame-ancestors 'self'");
    });
    expect(accesses).toEqual([
      { action: 'document.download', ...subject, query: { version: 1, preview: true } },
    ]);
    const download = await visitor.get(`${root()}${path}/download?version=1`);
    expect(download.headers['content-disposition']).toMatch(/^attachment; /);
    expect(download.headers['content-security-policy']).toContain("frame-ancestors 'none'");
  });
});
