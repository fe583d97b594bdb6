import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { documentForm, documentsPath, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, type TestService } from '../support/service.ts';
import { createWebhook, HookEndpoint, openLoopback } from '../support/webhooks.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  let endpoint: HookEndpoint;
  const patient = { ...samples.patient(), city: 'Omaha', zip_code: '68102-1234', phone: phi('+1 402') };
  const encounter = { ...samples.encounter(patient.id), date_of_service: '2026-03-14' };
  const filename = `${phi('report')}.pdf`;
  beforeAll(async () => {
    endpoint = await HookEndpoint.open();
    service = await start(openLoopback);
    const { key } = await service.createKey('clinic', ['events:limited', 'webhooks']);
    await createWebhook(service.as(key), {
      url: endpoint.url,
      payload: 'limited',
      recipient: 'State university',
    });
    await service.post('/integration/patients', patient);
    await service.post('/integration/encounters', encounter);
    await service.upload(documentsPath(encounter.id), documentForm({ filename }));
  });
  afterAll(async () => {
    await service.stop();
    await endpoint.down();
  });

  const ndjson = { accept: 'application/x-ndjson' };
  const keyOf = async (permission: 'events' | 'events:limited' | 'events:deidentified') =>
    service.as((await service.createKey('clinic', [permission])).key);

  test('a key for it reads dates and places, no direct identifier, and nothing of the full view', async () => {
    const limited = await keyOf('events:limited');
    const [access] = await accessesBy(service, async () => {
      const { status, text } = await limited.get('/events', ndjson);
      expect(status).toBe(200);
      const events = text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      const [about, visit, document] = events.map(({ data }) => data.sent);
      expect(about).toMatchObject({ date_of_birth: patient.date_of_birth, city: 'Omaha', zip_code: '68102' });
      expect(visit).toMatchObject({ date_of_service: '2026-03-14', patient_id: about.id });
      expect(document).toEqual({
        ...{ encounter_id: visit.id, document_id: expect.stringMatching(/^[\w-]{22}$/) },
        ...{ category: expect.any(String), format: 'pdf' },
      });
      expect(events[0].dataschema).toMatch(/\/schemas\/chartledger\.patient\.upserted\.v1\.limited$/);
      expect(events[0].time).not.toMatch(/-01-01T00:00:00.000Z$/);
      const identifying = [patient.id, encounter.id, patient.phone, patient.last_name, filename, '1234'];
      for (const value of identifying) expect(text).not.toContain(value);
      expect((await service.get(new URL(events[0].dataschema).pathname)).status).toBe(200);
    });
    expect(access).toMatchObject({ action: 'events.read', shown: { view: 'limited' } });
    expect((await limited.get('/events?from=2026-03-14T00:00:00Z', ndjson)).status).toBe(200);
    const refused = await limited.get('/events?view=full', ndjson);
    expect(refused).toMatchObject({ status: 403, body: { code: 'permission_denied' } });
    expect((await limited.get('/events?view=deidentified', ndjson)).text).not.toContain('68102');
    expect((await (await keyOf('events')).get('/events?view=limited', ndjson)).text).toContain('68102');
    const other = await (await keyOf('events:deidentified')).get('/events?view=limited', ndjson);
    expect(other.status).toBe(403);
  });

  test('a snapshot has the same hashes and whole times', async () => {
    const limited = await keyOf('events:limited');
    const { text } = await limited.get('/integration/snapshot?kind=patient');
    const [head, line] = text
      .trim()
      .split('\n')
      .map((one) => JSON.parse(one));
    expect(head.snapshot).toMatchObject({ view: 'limited' });
    expect(line).toMatchObject({ record: { city: 'Omaha', zip_code: '68102' } });
    expect(line.created_at).toBe(line.updated_at);
    const [first] = (await limited.get('/events', ndjson)).text.split('\n');
    expect(line.subject).toBe(JSON.parse(first as string).subject);
  });

  test('a webhook with this payload sends the same events', async () => {
    const { text } = await (await keyOf('events:limited')).get('/events', ndjson);
    const read = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const sent = await eventually(() => {
      const messages = new Map(
        endpoint.accepted.map(({ body }) => {
          const event = JSON.parse(String(body));
          return [event.sequence, event] as const;
        }),
      );
      expect(messages.size).toBeGreaterThanOrEqual(read.length);
      return messages;
    });
    for (const { dataschema: _, ...event } of read) expect(sent.get(event.sequence)).toEqual(event);
  });

  test('an accounting of disclosures marks it exempt', async () => {
    const { key } = await service.createKey('clinic', ['read', 'audit']);
    const path = `/integration/patients/${encodeURIComponent(patient.id)}/disclosures?limit=1000`;
    const { items } = (await service.as(key).get(path)).body;
    const sent = items.filter(({ view }: { view: string }) => view === 'limited');
    expect(sent.length).toBeGreaterThan(0);
    for (const one of sent) {
      expect(one).toMatchObject({ status: 'exempt', exemption: '45 CFR 164.528(a)(1)(viii)' });
      expect(one.description).toMatch(/limited data set/);
    }
  });
});
