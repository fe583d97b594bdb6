import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { phi } from '../support/output.ts';
import { createEncounter, documentForm, documentsPath, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, appendedBy, type TestService } from '../support/service.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  let root: string;
  let auditor: BrowserlessSession;
  let encounterId: string;
  const patient = { ...samples.patient(), last_name: phi('Featherstonehaugh') };
  beforeAll(async () => {
    service = await start({ RATE_LIMIT_PER_MINUTE: '0' });
    root = `/workspaces/${service.workspaceId('clinic')}`;
    const client = service.as((await service.createKey('clinic', ['write', 'read'])).key);
    encounterId = await createEncounter(client);
    await client.post('/integration/patients', patient);
    await client.upload(documentsPath(encounterId), documentForm());
    await client.get(`/integration/patients/${patient.id}`);
    ({ visitor: auditor } = await signedIn(service, 'auditor', service.workspaceId('clinic')));
    await auditor.get('/account');
  });
  afterAll(() => service.stop());

  test('sees who did what to which record, and no value of one', async () => {
    for (const [page, holds] of [
      ['/audit', patient.id],
      ['/evidence', 'Verify now'],
      ['', 'Overview'],
    ] as const) {
      const { status, text } = await auditor.get(root + page);
      expect([page, status, text.includes(holds)]).toEqual([page, 200, true]);
      expect(text).not.toContain(patient.last_name);
      expect(text).not.toContain('Search this workspace');
      expect(text).not.toContain('/evidence/export');
    }
    expect((await auditor.get(`${root}/audit/export?format=csv`)).text).toContain(patient.id);
  });

  test('opens no record, list, search or document', async () => {
    const record = `${root}/records/patients/${patient.id}`;
    const encounter = `${root}/records/encounters/${encounterId}`;
    const pages = [
      ...[record, `${record}/timeline`, `${record}/print`, `${record}/disclosures`, `${record}/documents`],
      ...[`${encounter}/documents`, `${encounter}/documents/document-5001/preview`],
      ...['/records?kind=patient', '/search', '/readiness', '/changes', '/holds', '/messages'].map(
        (page) => root + page,
      ),
    ];
    for (const page of pages) {
      const { status, text } = await auditor.get(page);
      expect([page, status, text.includes(patient.last_name)]).toEqual([page, 403, false]);
    }
  });

  test('leaves in the trail of each look what was asked for', async () => {
    const from = '2026-03-14T00:00:00.000Z';
    const limits = { kind: 'patient', id: patient.id, seen: 'all', from };
    const looks = await accessesBy(service, async () => {
      await auditor.get(`${root}/audit?${new URLSearchParams(limits)}`);
      await auditor.get(`${root}/audit/export?${new URLSearchParams({ principal: 'key-1', format: 'csv' })}`);
    });
    expect(looks).toEqual([
      { action: 'audit.read', query: limits },
      { action: 'audit.export', query: { principal: 'key-1', format: 'csv' } },
    ]);
    const about = new URLSearchParams({ action: 'audit.read', kind: 'patient', id: patient.id });
    const look = (await auditor.get(`${root}/audit?${about}`)).text;
    expect(look.slice(look.indexOf('<tbody>'))).toContain(`id: ${patient.id}; kind: patient; seen: all`);
  });

  test('a key with the permission audit reads the trail and who saw a record, and no record', async () => {
    const { key } = await service.createKey('clinic', ['audit']);
    const asked = service.as(key);
    const record = `/integration/patients/${patient.id}`;
    const looks = await accessesBy(service, async () => {
      expect((await asked.get('/integration/audit?limit=1000')).text).toContain(patient.id);
      const seen = await asked.get(`${record}/accesses`);
      expect([seen.status, seen.text.includes(patient.last_name)]).toEqual([200, false]);
    });
    expect(looks).toEqual([
      { action: 'audit.read', query: { limit: '1000' } },
      { action: 'audit.read', query: { kind: 'patient', id: patient.id, seen: 'all' } },
    ]);
    const appended = await appendedBy(service, async () => {
      for (const path of [
        ...[record, `${record}/history`, '/integration/patients', documentsPath(encounterId), '/events'],
      ]) {
        const { status, text } = await asked.get(path);
        expect([path, status, text.includes(patient.last_name)]).toEqual([path, 403, false]);
      }
      expect((await asked.post('/integration/search', { q: patient.last_name })).status).toBe(403);
    });
    expect(appended).toEqual([]);
  });
});
