import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { EventReader, eventsOf } from '../support/log.ts';
import { expectDocumented, fetchDocument } from '../support/openapi.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, appendedBy, type TestService } from '../support/service.ts';

const sse = { accept: 'text/event-stream' };

onEmbeddedEngines((start) => {
  let service: TestService;
  let workspaces = 0;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  /** A fresh workspace, whose key may do everything. */
  async function fresh(): Promise<{ label: string; client: Client }> {
    workspaces += 1;
    const label = `reader${workspaces}`;
    const { key } = await service.createKey(label, ['write', 'read', 'events']);
    return { label, client: service.as(key) };
  }

  test('a key has a bounded number of live streams: 503 beyond them, and others have theirs', async () => {
    const own = await start({ RATE_LIMIT_PER_MINUTE: '0' });
    try {
      const clientOf = async (label: string) => own.as((await own.createKey(label, ['events'])).key);
      const [client, other] = [await clientOf('many'), await clientOf('few')];
      const readers = await Promise.all(Array.from({ length: 200 }, () => EventReader.open(client)));
      expect(new Set(readers.map(({ response }) => response?.statusCode))).toEqual(new Set([200]));
      const refused = await client.get('/events', sse);
      expect(refused).toMatchObject({ status: 503, body: { code: 'overloaded' } });
      expect(refused.headers['retry-after']).toBe('2');
      const live = await EventReader.open(other);
      expect(live.response?.statusCode).toBe(200);
      for (const reader of [...readers.slice(0, 10), live]) reader.kill();
      await eventually(async () => {
        const next = await EventReader.open(client);
        expect(next.response?.statusCode).toBe(200);
        next.kill();
      });
      for (const reader of readers.slice(10)) reader.kill();
    } finally {
      await own.stop();
    }
  });

  test('the audit trail tells who read and who subscribed, and not of empty pages', async () => {
    const { client } = await fresh();
    await client.post('/integration/payers', samples.payer());
    const position = await service.eventLog.head();
    const shown = { ranges: [{ from: position, to: expect.any(Number) }], count: 1 };
    const accesses = await accessesBy(service, async () => {
      await client.get('/events?limit=7');
      await client.get('/events?kinds=patient');
      const live = await EventReader.open(client, '/events?kinds=payer', { 'last-event-id': '0' });
      await live.count(1);
      live.kill();
    });
    expect(accesses).toEqual([
      { action: 'events.read', query: { limit: 7, view: 'full' }, shown },
      { action: 'events.subscribe', query: { kinds: 'payer', view: 'full', last_event_id: '0' } },
      {
        action: 'events.sent',
        shown: { ...shown, event_types: ['PayerUpserted', 'RecordErased/payer'] },
      },
    ]);
  });

  test('the audit trail has what was asked for as it was understood, however long it was sent', async () => {
    const { client } = await fresh();
    await client.post('/integration/payers', samples.payer());
    const kinds = Array(1_000).fill('payer').join();
    const query = `kinds=${kinds}&from=2020-01-01T00:00:00+01:00&limit=${'0'.repeat(50)}`;
    const accesses = await accessesBy(service, async () => {
      expect((await client.get(`/events?${query}`)).status).toBe(400);
      expect((await client.get(`/events?${query.replace(/&limit.*/, '&limit=007')}`)).status).toBe(200);
    });
    const asked = { kinds: 'payer', from: '2020-01-01T00:00:00+01:00', limit: 7, view: 'full' };
    const shown = expect.objectContaining({ count: 1 });
    expect(accesses).toEqual([{ action: 'events.read', query: asked, shown }]);
  });

  test('the de-identified view is what its key gets, and others may ask for it', async () => {
    const { label, client } = await fresh();
    const { key } = await service.createKey(label, ['events:deidentified']);
    const patient = samples.patient();
    await client.post('/integration/patients', patient);
    const shown = await service.as(key).get('/events');
    expect(shown.status).toBe(200);
    expect(eventsOf(shown)).toHaveLength(1);
    for (const value of [patient.id, patient.first_name, patient.last_name, patient.date_of_birth]) {
      expect(shown.text).not.toContain(value);
    }
    expect((await client.get('/events?view=deidentified')).text).toBe(shown.text);
    const live = await EventReader.open(service.as(key));
    expect(await live.count(1)).toEqual(eventsOf(shown));
    live.kill();
    const refused = await service.as(key).get('/events?view=full');
    expect([refused.status, refused.body.code]).toEqual([403, 'permission_denied']);
  });

  test('refused requests say what is allowed, and leave nothing behind', async () => {
    const { label, client } = await fresh();
    const writer = service.as((await service.createKey(label, ['write', 'read'])).key);
    const document = await fetchDocument(client);
    const bad: [string, string][] = [
      ['kinds=patient,dog', 'kinds must be one or more of payer, patient, provider, facility, encounter'],
      ['types=x', 'chartledger.document.removed.v1'],
      ['kinds=', 'kinds must be'],
      ['kinds=payer&types=chartledger.patient.upserted.v1', 'types must be of the kinds in kinds'],
      ['after=x', 'after must be the position of an event'],
      ['after=-1', 'after must be'],
      ['after=99999999999999999', 'after must be'],
      ['after=1&after=2', 'after must be sent once'],
      ['from=yesterday', 'from must be an ISO 8601 date'],
      ['after=1&from=2026-01-01', 'from must not be sent together with after'],
      ['limit=0', 'limit must be at least 1'],
      ['limit=10001', 'limit must be at most 10000'],
      ['wait=51', 'wait must be at most 50'],
      ['view=all', 'view must be one of full, limited, deidentified'],
    ];
    const appended = await appendedBy(service, async () => {
      for (const [query, message] of bad) {
        const { status, body } = await client.get(`/events?${query}`);
        expect([query, status, body.error]).toEqual([query, 400, expect.stringContaining(message)]);
      }
      const header = await client.get('/events', { ...sse, 'last-event-id': 'x' });
      expect([header.status, header.body.error]).toEqual([
        400,
        expect.stringContaining('Last-Event-ID must be'),
      ]);
      for (const [status, answer] of [
        [200, await client.get('/events')],
        [400, await client.get('/events?limit=0')],
        [401, await service.as(undefined).get('/events')],
        [403, await writer.get('/events', sse)],
        [406, await client.get('/events', { accept: 'application/json' })],
      ] as const) {
        expect(answer.status).toBe(status);
        expectDocumented(document, 'readEvents', answer);
      }
    });
    expect(appended).toEqual([]);
  });

  test('HEAD answers without events, and is no access to them', async () => {
    const { client } = await fresh();
    await client.post('/integration/payers', samples.payer());
    const accesses = await accessesBy(service, async () => {
      const page = await client.send('/events', { method: 'HEAD' });
      expect([page.status, page.headers['content-type'], page.text]).toEqual([
        200,
        'application/x-ndjson',
        '',
      ]);
      const live = await client.send('/events', { method: 'HEAD', headers: sse });
      expect([live.status, live.headers['content-type'], live.text]).toEqual([200, 'text/event-stream', '']);
    });
    expect(accesses).toEqual([]);
  });
});
