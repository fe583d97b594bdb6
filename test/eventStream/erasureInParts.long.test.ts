import { afterAll, beforeAll, expect, test } from 'vitest';
import { RECORD_ERASED } from '../../src/domain/events/payloads.ts';
import { recordStream } from '../../src/domain/events/streams.ts';

import type { Client, TestResponse } from '../support/client.ts';
import { appendTombstones } from '../support/erasure.ts';
import { eventually } from '../support/eventually.ts';
import { EventReader, eventsOf } from '../support/log.ts';
import { paths, samples, TestWorkspace } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import type { TestService } from '../support/service.ts';

/** The tombstones of a record with thousands of versions do not fit into one event. */
onEveryEngine((start) => {
  let service: TestService;
  let workspaces = 0;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  /** A patient of two versions in a workspace of its own. */
  async function patient() {
    workspaces += 1;
    const label = `parts${workspaces}`;
    const { key } = await service.createKey(label, ['write', 'read', 'events']);
    const client = service.as(key);
    const sent = samples.patient();
    for (const city of ['Omaha', 'Lincoln']) await client.post(paths.patient, { ...sent, city });
    const workspace = new TestWorkspace(service.workspaceId(label));
    return { client, sent, workspace, stream: recordStream(workspace.id, 'patient', sent.id) };
  }

  const told = (page: TestResponse) =>
    eventsOf(page).map(({ type, data }) => `${type.split('.')[2]} ${data.version}`);

  const headOf = async (client: Client) =>
    (await client.get('/events')).headers['chartledger-position'] as string;

  test('whoever reads live is told of the erasure, though nothing before it is left', async () => {
    const { client, workspace, stream } = await patient();
    const reader = await EventReader.open(client, `/events?after=${await headOf(client)}`);
    const removal = await appendTombstones(service.eventLog, workspace, stream, 2);
    await service.eventLog.erase(...removal);
    expect((await reader.count(1)).map(({ data }) => data.version)).toEqual([4]);
    reader.kill();
  });

  test('a new record with the id is in the stream', async () => {
    const { client, sent, workspace, stream } = await patient();
    await service.eventLog.erase(...(await appendTombstones(service.eventLog, workspace, stream, 2)));
    const after = await headOf(client);
    for (const city of ['Omaha', 'Lincoln']) await client.post(paths.patient, { ...sent, city });
    expect(told(await client.get(`/events?after=${after}`))).toEqual(['upserted 5', 'upserted 6']);
    expect(told(await client.get('/events'))).toEqual(['erased 4', 'upserted 5', 'upserted 6']);
  });

  test('the record is read as erased, and the new one as what followed', async () => {
    const { client, sent, workspace, stream } = await patient();
    await service.eventLog.erase(...(await appendTombstones(service.eventLog, workspace, stream, 2)));
    const path = `${paths.patient}/${sent.id}`;
    const outcomes = async () => {
      const { status, body } = await client.get(`${path}/history`);
      expect(status).toBe(200);
      return body.items.map(({ version, outcome }: { version: number; outcome: string }) => [
        version,
        outcome,
      ]);
    };
    expect((await client.get(path)).status).toBe(410);
    const erased = [
      [4, 'erased'],
      [3, 'unchanged'],
    ];
    expect(await outcomes()).toEqual(erased);
    for (const city of ['Omaha', 'Lincoln']) await client.post(paths.patient, { ...sent, city });
    expect((await client.get(path)).body).toMatchObject({ version: 6, record: { city: 'Lincoln' } });
    expect((await client.get(`${path}?version=5`)).body).toMatchObject({ record: { city: 'Omaha' } });
    expect((await client.get(`${path}?version=3`)).status).toBe(410);
    expect(await outcomes()).toEqual([[6, 'updated'], [5, 'created'], ...erased]);
  });

  test('a read model that was behind takes the record as erased, and the new one as what followed', async () => {
    const api = await start({ ROLES: 'api' });
    const another = samples.patient();
    const workspace = new TestWorkspace(api.workspaceId('clinic'));
    const stream = recordStream(workspace.id, 'patient', another.id);
    const path = `${paths.patient}/${another.id}`;
    const listed = async () => {
      const { status, body } = await api.get(paths.patient);
      expect(status).toBe(200);
      return { ids: body.items.map(({ id }: { id: string }) => id), unreadable: body.unreadable };
    };
    await api.post(paths.patient, { ...another, city: 'Omaha' });
    const first = await api.another({ ROLES: 'projector' });
    await eventually(async () => expect((await listed()).ids).toEqual([another.id]));
    await first.stop();
    await api.post(paths.patient, { ...another, city: 'Lincoln' });
    await api.eventLog.erase(...(await appendTombstones(api.eventLog, workspace, stream, 2)));
    expect((await api.get(path)).status).toBe(410);
    await api.post(paths.patient, { ...another, city: 'Wahoo' });
    const next = await api.another({ ROLES: 'projector' });
    await eventually(async () => expect(await listed()).toEqual({ ids: [another.id], unreadable: [] }));
    expect((await api.get(path)).body).toMatchObject({ version: 5, record: { city: 'Wahoo' } });
    await next.stop();
    await api.stop();
  });

  test('an erasure that was not completed leaves nothing out', async () => {
    const { client, sent, workspace, stream } = await patient();
    const first = { kind: 'patient', record_id: sent.id, reason: 'asked for', part: 1, parts: 2, erased: [] };
    await service.eventLog.append(stream, workspace.event(first, RECORD_ERASED), 1);
    await client.post(paths.patient, { ...sent, city: 'Wahoo' });
    expect(told(await client.get('/events'))).toEqual(['upserted 1', 'upserted 2', 'upserted 4']);
  });
});
