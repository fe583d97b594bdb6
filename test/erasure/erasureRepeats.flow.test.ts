import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { recordStream } from '../../src/domain/events/streams.ts';
import { finishErasure } from '../../src/modules/erasure/finish.ts';
import type { MessagePorts } from '../../src/modules/integrations/messages/store.ts';
import { attemptsTable } from '../../src/modules/webhooks/attempts.ts';
import { openReadModels } from '../../src/server/openStorage.ts';
import { runInWorkspace } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { fhirPatient, sendFhir } from '../support/fhir.ts';
import { closeMessageStores, openMessageStores } from '../support/messages.ts';
import { samples } from '../support/samples.ts';
import { onSharedService } from '../support/servers.ts';
import { newEvents, type TestService } from '../support/service.ts';

/** As any process does that finds the tombstone, also long after the erasure was complete. */
onSharedService((start) => {
  let service: TestService;
  let stores: MessagePorts;
  beforeAll(async () => {
    service = await start();
    stores = await openMessageStores(service.config);
  });
  afterAll(async () => {
    await closeMessageStores(stores);
    await service.stop();
  });

  const cli = (...args: string[]) => runInWorkspace(service, ...args);
  const messages = async () =>
    JSON.parse((await cli('messages', 'list', '--json')).stdout).map(({ id }: { id: string }) => id);

  test('an erasure that is finished once more leaves what came behind it', async () => {
    const patient = fhirPatient();
    const id = String(patient.id);
    const stream = recordStream(service.workspaceId('clinic'), 'patient', id);
    await sendFhir(service, '/fhir/Patient', patient);
    expect(await cli('records', 'erase', 'patient', id, '--reason', 'Asked')).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(await messages()).toEqual([]);
    await sendFhir(service, '/fhir/Patient', patient);
    const [message] = await messages();
    const webhook = 'wh_0000000000000000';
    const attempt = (revision: number) => ({
      id: `${webhook} ${stream} ${revision}`,
      partition: webhook,
      order: revision,
      revision: Date.now(),
      body: {
        shown: {
          message_id: `msg_${revision}`,
          type: 'chartledger.patient.upserted.v1',
          attempt: 1,
          at: new Date().toISOString(),
          duration_ms: 1,
          outcome: 'delivered' as const,
        },
        event: { stream, revision },
      },
    });
    await stores.stateStore.save(attemptsTable, [0, 1, 2].map(attempt));

    const [tombstone] = await service.eventLog.readStream(stream, { from: 1, limit: 1 });
    expect(tombstone?.type).toBe('RecordErased');
    const readModels = await openReadModels(service.config.readModelUrl);
    const ports = { ...stores, eventLog: service.eventLog, readModels, webhooksOf: () => [webhook] };
    const events = await newEvents(service, () => finishErasure(ports, tombstone as RecordedEvent));
    await readModels.close();
    expect(events).toEqual([]);
    expect(await messages()).toEqual([message]);
    const left = await stores.stateStore.page(attemptsTable, { partition: webhook, limit: 10 });
    // The attempt to tell of the erasure, and that of the record which has the id now.
    expect(left.map(({ body }) => body.event?.revision)).toEqual([1, 2]);
  });

  test('records that return after their erasure get a warning over each way in, and are listed', async () => {
    const warning = { field: 'id', message: expect.stringMatching(/^previously_erased: /) };
    const [rest, batch, judged] = [samples.payer(), samples.payer(), samples.payer()];
    const inBatch = async (record: { id: string }, query = '') => {
      const lines = `${JSON.stringify({ kind: 'payer', record })}\n`;
      const headers = { 'content-type': 'application/x-ndjson' };
      const answer = await service.send(`/integration/batch${query}`, {
        method: 'POST',
        headers,
        body: lines,
      });
      return JSON.parse(answer.text.split('\n')[0] as string);
    };
    const fhir = fhirPatient();
    const sendAll = async () => ({
      rest: (await service.post('/integration/payers', rest)).body,
      batch: await inBatch(batch),
      judged: await inBatch(judged, '?unchanged=skip'),
      fhir: (await sendFhir(service, '/fhir/Patient', fhir)).text,
    });
    const first = await sendAll();
    for (const one of [first.rest, first.batch, first.judged])
      expect(one).toMatchObject({ outcome: 'created', warnings: [] });
    expect(first.fhir).not.toContain('previously_erased');
    for (const { id } of [rest, batch, judged])
      expect(await cli('records', 'erase', 'payer', id, '--reason', 'Asked')).toMatchObject({ code: 0 });
    const erasing = ['records', 'erase', 'patient', String(fhir.id), '--reason', 'Asked'];
    expect(await cli(...erasing)).toMatchObject({ code: 0 });
    const ids = [rest.id, batch.id, judged.id, String(fhir.id)];
    const returned = async (): Promise<{ id: string }[]> => {
      const all = JSON.parse((await cli('records', 'returned', '--json')).stdout);
      return all.filter(({ id }: { id: string }) => ids.includes(id));
    };
    expect(await returned()).toEqual([]);
    // The service learns of erasures by other processes within a second.
    await eventually(async () => {
      const reference = { ...samples.patient(), primary_insurance: { payer_id: rest.id } };
      expect((await service.post('/integration/patients', reference)).status).toBe(400);
    });
    const again = await sendAll();
    for (const one of [again.rest, again.batch, again.judged])
      expect(one).toMatchObject({ outcome: 'created', version: 3, warnings: [warning] });
    expect(again.fhir).toContain('previously_erased');
    expect((await service.post('/integration/payers', rest)).body).toMatchObject({ warnings: [] });
    const found = await returned();
    expect(found.map(({ id }) => id)).toEqual(ids);
    for (const one of found) expect(one).toMatchObject({ version: 3, principal: { type: 'api_key' } });
    const csv = await cli('records', 'returned', '--format', 'csv');
    for (const id of ids) expect(csv.stdout).toContain(`,${id},`);
  });
});
