import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Permission } from '../../src/modules/auth/permissions.ts';
import type { SnapshotLine } from '../../src/modules/eventStream/changedFields.ts';
import type { CloudEvent } from '../../src/modules/eventStream/cloudEvents.ts';

import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import type { Client, TestResponse } from '../support/client.ts';
import { eventsOf } from '../support/log.ts';
import { phi } from '../support/output.ts';
import { paths, samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { accessesBy, appendedBy, refusalsBy, type TestService } from '../support/service.ts';

const LONG_MS = 120_000;
const SNAPSHOT = '/integration/snapshot';

onEveryEngine((start) => {
  const folder = temporaryFolder();
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  async function clientOf(label: string, ...permissions: Permission[]): Promise<Client> {
    return service.as((await service.createKey(label, permissions)).key);
  }

  const send = async (by: Client, path: string, record: object) =>
    expect((await by.post(path, record)).status).toBe(200);

  function partsOf({ text }: Pick<TestResponse, 'text'>) {
    const [first, ...lines] = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const last = lines.pop();
    return { first: first.snapshot, records: lines as SnapshotLine[], end: last.end };
  }

  /** A table as a consumer keeps it: fields and versions, by subject. */
  function apply(
    table: Map<string, { version: number; fields: object }>,
    { subject, type, data }: CloudEvent,
  ) {
    const before = table.get(subject);
    if (before && before.version >= data.version) return;
    if (type.includes('.erased.')) return table.delete(subject);
    const fields = JSON.stringify({ ...before?.fields, ...data.sent }, (_, value) => value ?? undefined);
    table.set(subject, { version: data.version, fields: JSON.parse(fields) });
  }

  test(
    'a snapshot and the events after it come to what all events come to',
    async () => {
      const client = await clientOf('whole', 'write', 'read', 'events');
      const patients = Array.from({ length: 450 }, samples.patient);
      for (const patient of patients) await send(client, paths.patient, patient);
      for (const patient of patients.slice(0, 40))
        await send(client, paths.patient, { ...patient, city: phi('Omaha') });
      let writing = true;
      const written = (async () => {
        for (let count = 0; writing || count < 20; count++) {
          const patient = patients[(count * 7) % patients.length] as object;
          await send(client, paths.patient, { ...patient, city: count % 3 ? `City ${count}` : null });
          await send(client, paths.patient, samples.patient());
        }
      })();
      const snapshot = await client.get(`${SNAPSHOT}?kind=patient`);
      writing = false;
      await written;
      const { first, records, end } = partsOf(snapshot);
      expect(end).toEqual({ count: records.length, unreadable: 0 });
      expect(records.length).toBeGreaterThanOrEqual(450);
      expect(first).toEqual({
        kind: 'patient',
        view: 'full',
        position: snapshot.headers['chartledger-position'],
      });

      const table = new Map(
        records.map(({ subject, version, record }) => [subject, { version, fields: record as object }]),
      );
      const after = eventsOf(await client.get(`/events?kinds=patient&limit=10000&after=${first.position}`));
      expect(after.length).toBeGreaterThan(0);
      for (const event of after) apply(table, event);
      const whole: typeof table = new Map();
      for (const event of eventsOf(await client.get('/events?kinds=patient&limit=10000')))
        apply(whole, event);
      expect(Object.fromEntries(table)).toEqual(Object.fromEntries(whole));
      for (const patient of patients.slice(0, 3)) {
        const { body } = await client.get(`${paths.patient}/${patient.id}`);
        const own = table.get(`patient/${encodeURIComponent(patient.id)}`);
        expect(own).toEqual({
          version: body.version,
          fields: expect.objectContaining({ last_name: patient.last_name }),
        });
      }
    },
    LONG_MS,
  );

  test(
    'it has the records of one kind and workspace, and none that was erased',
    async () => {
      const [client, other] = [
        await clientOf('kinds', 'write', 'events'),
        await clientOf('others', 'write', 'events'),
      ];
      const [payer, erased, patient] = [samples.payer(), samples.payer(), samples.patient()];
      for (const one of [payer, erased]) await send(client, paths.payer, one);
      await send(client, paths.patient, patient);
      await send(other, paths.payer, samples.payer());
      const args = [
        'records',
        'erase',
        'payer',
        erased.id,
        '--reason',
        'Request',
        '--workspace',
        service.workspaceId('kinds'),
      ];
      const { code } = await runCli(args, { env: { ...storesOf(service.config), DATA_DIR: folder } });
      expect(code).toBe(0);
      const { records, end } = partsOf(await client.get(`${SNAPSHOT}?kind=payer`));
      expect(records).toEqual([
        {
          subject: `payer/${encodeURIComponent(payer.id)}`,
          version: 1,
          created_at: expect.any(String),
          updated_at: expect.any(String),
          record: payer,
        },
      ]);
      expect(end).toEqual({ count: 1, unreadable: 0 });
      expect(partsOf(await client.get(`${SNAPSHOT}?kind=facility`)).end).toEqual({ count: 0, unreadable: 0 });
    },
    LONG_MS,
  );

  test('a key of the de-identified view gets that, joined with its events', async () => {
    const writer = await clientOf('analytics', 'write', 'events');
    const patient = { ...samples.patient(), state: 'NE', city: phi('Omaha') };
    await send(writer, paths.patient, patient);
    const analyst = await clientOf('analytics', 'events:deidentified');
    const { first, records } = partsOf(await analyst.get(`${SNAPSHOT}?kind=patient`));
    const [event] = eventsOf(await analyst.get('/events?kinds=patient'));
    expect(first.view).toBe('deidentified');
    const { subject, time, data } = event as CloudEvent;
    expect(records).toEqual([{ subject, version: 1, created_at: time, updated_at: time, record: data.sent }]);
    expect(JSON.stringify(records)).not.toContain(patient.id);
    const asked = partsOf(await writer.get(`${SNAPSHOT}?kind=patient&view=deidentified`));
    expect(asked.records).toEqual(records);
    const refusals = await refusalsBy(service, async () => {
      expect((await analyst.get(`${SNAPSHOT}?kind=patient&view=full`)).status).toBe(403);
    });
    expect(refusals).toMatchObject([{ route: SNAPSHOT, code: 'permission_denied' }]);
  });

  test('it is compressed for who accepts that', async () => {
    const client = await clientOf('gzip', 'write', 'events');
    await send(client, paths.payer, samples.payer());
    const zipped = await client.get(`${SNAPSHOT}?kind=payer`, { 'accept-encoding': 'gzip' });
    expect([zipped.headers['content-encoding'], zipped.headers['content-type']]).toEqual([
      'gzip',
      'application/x-ndjson',
    ]);
    const plain = await client.get(`${SNAPSHOT}?kind=payer`);
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(partsOf({ text: gunzipSync(zipped.bytes).toString() }).records).toEqual(partsOf(plain).records);
  });

  test.each([
    ['', 'kind'],
    ['kind=', 'kind'],
    ['kind=document', 'kind'],
    ['kind=patient&kind=payer', 'kind'],
    ['kind=patient&view=all', 'view'],
    ['kind=patient&limit=1', 'limit'],
  ])('"%s" is refused with 400', async (query, field) => {
    const client = await clientOf('refused', 'events');
    const refusals = await refusalsBy(service, async () => {
      const { status, body } = await client.get(`${SNAPSHOT}?${query}`);
      expect([status, body.details[0].field]).toEqual([400, field]);
    });
    expect(refusals).toHaveLength(1);
  });

  test('it needs a key for the stream, and is an export in the audit trail', async () => {
    const client = await clientOf('audited', 'events');
    expect((await service.get(`${SNAPSHOT}?kind=payer`)).status).toBe(403);
    const appended = await appendedBy(service, async () => {
      const accesses = await accessesBy(service, () => client.get(`${SNAPSHOT}?kind=payer`));
      expect(accesses).toMatchObject([
        {
          action: 'export',
          query: { snapshot: true, kind: 'payer', view: 'full' },
          shown: { event_types: ['PayerUpserted'] },
        },
      ]);
    });
    expect(appended).toEqual([]);
  });
});
