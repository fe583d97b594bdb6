import { afterAll, beforeAll, expect, test } from 'vitest';
import { timelineModel } from '../../projections/timeline.ts';
import type { CloudEvent } from '../../src/modules/eventStream/cloudEvents.ts';

import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { EventReader, eventsOf } from '../support/log.ts';
import { documentForm, documentsPath, samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

onEveryEngine((start) => {
  let service: TestService;
  let workspaces = 0;
  beforeAll(async () => {
    service = await start({ METRICS_PORT: '0' });
  });
  afterAll(() => service.stop());

  /** A fresh workspace, whose key may do everything. */
  async function fresh(): Promise<{ label: string; client: Client }> {
    workspaces += 1;
    const label = `feed${workspaces}`;
    const { key } = await service.createKey(label, ['write', 'read', 'events']);
    return { label, client: service.as(key) };
  }

  const pathOf = (kind: string) => `/integration/${kind}`;
  const idsOf = (events: CloudEvent[]) => events.map(({ data }) => data.sent.id);

  test('every version is a CloudEvent, in order, with what it changed', async () => {
    const { label, client } = await fresh();
    const payer = samples.payer();
    const patient = { ...samples.patient(), phone: '1', primary_insurance: { payer_id: payer.id } };
    const again = {
      ...patient,
      phone: null,
      city: 'Omaha',
      primary_insurance: { payer_id: payer.id, policy_number: 'W1' },
    };
    const before = Date.now();
    await client.post(pathOf('payers'), payer);
    await client.post(pathOf('patients'), patient);
    const { headers } = await client.post(pathOf('patients'), again);
    await client.post(pathOf('patients'), again);
    const page = await client.get('/events');
    expect(page.status).toBe(200);
    expect(page.headers['content-type']).toBe('application/x-ndjson');
    const events = eventsOf(page);
    const workspace = service.workspaceId(label);
    expect(events[2]).toEqual({
      specversion: '1.0',
      id: headers['request-id'],
      source: `/workspaces/${workspace}`,
      type: 'chartledger.patient.upserted.v1',
      subject: `patient/${patient.id}`,
      time: expect.any(String),
      datacontenttype: 'application/json',
      dataschema: `${service.url}/schemas/chartledger.patient.upserted.v1`,
      sequence: expect.stringMatching(/^\d{16}$/),
      data: { version: 2, sent: again, changed: expect.any(Array) },
    });
    expect(Date.parse(events[2]?.time ?? '')).toBeGreaterThan(before - 60_000);
    expect(events.map(({ data }) => data.version)).toEqual([1, 1, 2, 3]);
    expect(events.map(({ data }) => [...data.changed].sort())).toEqual([
      ['id', 'name'],
      ['date_of_birth', 'first_name', 'id', 'last_name', 'phone', 'primary_insurance.payer_id'],
      ['city', 'phone', 'primary_insurance.policy_number'],
      [],
    ]);
    const sequences = events.map(({ sequence }) => sequence);
    expect([...sequences].sort()).toEqual(sequences);
    const last = eventsOf(await client.get(`/events?after=${sequences[2]}`));
    expect(last).toEqual(events.slice(3));
  });

  test('documents are told without where their bytes are', async () => {
    const { client } = await fresh();
    const patient = samples.patient();
    const encounter = { ...samples.encounter(patient.id), id: 'visit/1 é' };
    await client.post(pathOf('patients'), patient);
    await client.post(pathOf('encounters'), encounter);
    const category = (name: string) =>
      client.upload(documentsPath(encounter.id), documentForm({ document_id: 'scan 1', category: name }));
    await category('lab_results');
    await category('doctor_notes');
    await client.delete(documentsPath(encounter.id, 'scan 1'));
    const events = eventsOf(await client.get('/events?kinds=document'));
    const subject = 'document/visit%2F1%20%C3%A9/scan%201';
    expect(events.map((event) => [event.type, event.subject, event.data.version])).toEqual([
      ['chartledger.document.uploaded.v1', subject, 1],
      ['chartledger.document.uploaded.v1', subject, 2],
      ['chartledger.document.removed.v1', subject, 3],
    ]);
    const fields = ['category', 'document_id', 'encounter_id', 'filename', 'format', 'sha256', 'size'];
    expect(Object.keys(events[0]?.data.sent ?? {}).sort()).toEqual(fields);
    expect(events[1]?.data.changed).toEqual(['category']);
    expect(events[2]?.data.sent).toEqual({ encounter_id: encounter.id, document_id: 'scan 1' });
    expect([...(events[2]?.data.changed ?? [])].sort()).toEqual([
      'category',
      'filename',
      'format',
      'sha256',
      'size',
    ]);
    const removals = await client.get('/events?types=chartledger.document.removed.v1');
    expect(eventsOf(removals)).toEqual(events.slice(2));
  });

  test('a place that is no event of the log is refused, in pages, streams and when a reader comes back', async () => {
    const { client } = await fresh();
    await client.post(pathOf('payers'), samples.payer());
    const last = Number((await client.get('/events')).headers['chartledger-position']);
    const places = [9_007_199_254_740_991, 2 ** 50];
    // Where positions have gaps, no event begins there.
    if (!(await service.eventLog.hasPosition(last - 1))) places.push(last - 1, last + 1);
    const refused = (place: number, field: string) =>
      place > 2 ** 49
        ? { status: 410, body: { code: 'position_gone', last_position: expect.stringMatching(/^\d{16}$/) } }
        : {
            status: 400,
            body: {
              code: 'validation_failed',
              details: [{ field, message: 'must be the position of an event in this log, or 0' }],
            },
          };
    const appended = await appendedBy(service, async () => {
      for (const place of places) {
        expect(await client.get(`/events?after=${place}`)).toMatchObject(refused(place, 'after'));
        const accept = { accept: 'text/event-stream' };
        expect(await client.send(`/events?after=${place}`, { headers: accept })).toMatchObject(
          refused(place, 'after'),
        );
        const headers = { ...accept, 'last-event-id': String(place).padStart(16, '0') };
        expect(await client.send('/events', { headers })).toMatchObject(refused(place, 'Last-Event-ID'));
      }
    });
    expect(appended).toEqual([]);
    for (const place of [0, last]) expect((await client.get(`/events?after=${place}`)).status).toBe(200);
  });

  test('pages go on where they stopped, whatever their size', async () => {
    const { client } = await fresh();
    const payers = Array.from({ length: 23 }, samples.payer);
    for (const payer of payers) await client.post(pathOf('payers'), payer);
    const read: CloudEvent[] = [];
    const sizes: number[] = [];
    for (let after = '0'; ; ) {
      const page = await client.get(`/events?limit=5&after=${after}`);
      const events = eventsOf(page);
      after = page.headers['chartledger-position'] as string;
      if (events.length === 0) break;
      expect(after >= (events.at(-1)?.sequence ?? '')).toBe(true);
      read.push(...events);
      sizes.push(events.length);
    }
    expect(sizes).toEqual([5, 5, 5, 5, 3]);
    expect(idsOf(read)).toEqual(payers.map(({ id }) => id));
  });

  test('kinds and types narrow the stream', async () => {
    const { client } = await fresh();
    const [payer, patient, facility] = [samples.payer(), samples.patient(), samples.facility()];
    await client.post(pathOf('payers'), payer);
    await client.post(pathOf('patients'), patient);
    await client.post(pathOf('facilities'), facility);
    const ids = async (query: string) => idsOf(eventsOf(await client.get(`/events?${query}`)));
    expect(await ids('kinds=patient,payer')).toEqual([payer.id, patient.id]);
    expect(await ids('types=chartledger.facility.upserted.v1')).toEqual([facility.id]);
    expect(await ids('kinds=encounter')).toEqual([]);
    const live = await EventReader.open(client, '/events?kinds=facility');
    await live.count(1);
    await client.post(pathOf('payers'), payer);
    await client.post(pathOf('facilities'), facility);
    expect(idsOf(await live.count(2))).toEqual([facility.id, facility.id]);
    live.kill();
  });

  test('a workspace sees its own events alone, and nothing of keys and reads', async () => {
    const { client } = await fresh();
    const other = await fresh();
    const [mine, theirs] = [samples.payer(), samples.payer()];
    const live = await EventReader.open(client);
    await other.client.post(pathOf('payers'), theirs);
    await client.post(pathOf('payers'), mine);
    await client.get(`${pathOf('payers')}/${mine.id}`);
    await client.post(pathOf('payers'), mine);
    expect(idsOf(await live.count(2))).toEqual([mine.id, mine.id]);
    expect(idsOf(eventsOf(await client.get('/events')))).toEqual([mine.id, mine.id]);
    expect(idsOf(eventsOf(await other.client.get('/events')))).toEqual([theirs.id]);
    live.kill();
  });

  test('a poll waits for the next event, and gives up with an empty page', async () => {
    const { client } = await fresh();
    const payer = samples.payer();
    const empty = await client.get('/events?wait=1');
    expect([empty.status, empty.text]).toEqual([200, '']);
    const polling = client.get(`/events?wait=50&after=${empty.headers['chartledger-position']}`);
    await eventually(async () => {
      await client.post(pathOf('payers'), payer);
      expect(await Promise.race([polling, undefined])).toBeDefined();
    });
    const page = await polling;
    expect(idsOf(eventsOf(page))[0]).toBe(payer.id);
    const next = await client.get(`/events?wait=0&after=${page.headers['chartledger-position']}`);
    expect(eventsOf(next).length + eventsOf(page).length).toBe(eventsOf(await client.get('/events')).length);
  });

  test('from begins with the first event recorded then or later', async () => {
    const { client } = await fresh();
    await client.post(pathOf('payers'), samples.payer());
    const [first] = eventsOf(await client.get('/events'));
    await eventually(async () => {
      await client.post(pathOf('payers'), samples.payer());
      const times = eventsOf(await client.get('/events')).map(({ time }) => time);
      expect(new Set(times).size).toBeGreaterThan(2);
    });
    const all = eventsOf(await client.get('/events'));
    const second = all.find(({ time }) => time > (first?.time ?? '')) as CloudEvent;
    const expected = all.filter(({ sequence }) => sequence >= second.sequence);
    const from = async (time: string) =>
      eventsOf(await client.get(`/events?from=${encodeURIComponent(time)}`));
    expect(await from(second.time)).toEqual(expected);
    expect(await from(second.time.replace('Z', '+00:00'))).toEqual(expected);
    expect(await from('2020-01-01')).toEqual(all);
    expect(await from('2100-01-01T00:00:00Z')).toEqual([]);
    const live = await EventReader.open(client, `/events?from=${second.time}`);
    expect(await live.count(expected.length)).toEqual(expected);
    live.kill();
    // The same by the read model of hours, once it has come so far.
    await eventually(async () => {
      expect((await service.readiness()).projections[timelineModel]?.behind).toBe(0);
    });
    expect(await from(second.time)).toEqual(expected);
    expect(await from('2020-01-01')).toEqual(all);
  });
});
