import { rmSync } from 'node:fs';
import { v7 as uuidv7 } from 'uuid';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { documentsModel, recordsModel } from '../../projections/records.ts';
import type { EventMetadata } from '../../src/domain/events/event.ts';
import { documentStream, recordStream } from '../../src/domain/events/streams.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { createEncounter, documentForm, documentsPath, samples } from '../support/samples.ts';
import { appendedBy, startTestService, type TestService } from '../support/service.ts';

const payers = '/integration/payers?limit=1000';

describe('read models', () => {
  let service: TestService;
  beforeEach(async () => {
    service = await startTestService({ METRICS_PORT: '0' });
  });
  afterEach(() => service.stop());

  const listedIds = async (path = payers) =>
    (await service.get(path)).body.items.map((item: { id: string }) => item.id);

  async function createPayers(count: number): Promise<string[]> {
    const records = Array.from({ length: count }, () => samples.payer());
    for (const record of records) await service.post('/integration/payers', record);
    return records.map(({ id }) => id);
  }

  function deleteReadModels() {
    const path = service.config.readModelUrl.slice('sqlite:'.length);
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
  }

  const workspace = () => service.workspaceId('clinic');

  /** Appends past HTTP, as another process or a later version might. */
  function append(stream: string, type: string, data: unknown, schemaVersion = 1) {
    const requestId = uuidv7();
    const metadata: EventMetadata = {
      workspace: workspace(),
      principal: { type: 'operator', id: 'test' },
      requestId,
      $correlationId: requestId,
      schemaVersion,
    };
    const event = { id: uuidv7(), type, data: data as Record<string, unknown>, metadata };
    return service.eventLog.append(stream, event, 'any');
  }

  const appendPayer = (payer = samples.payer()) =>
    append(recordStream(workspace(), 'payer', payer.id), 'PayerUpserted', payer);

  test('deleted while the service is down, they are rebuilt', async () => {
    const ids = await createPayers(20);
    const encounter = await createEncounter(service);
    const document_id = phi('document');
    await service.upload(documentsPath(encounter), documentForm({ document_id }));
    const appended = await appendedBy(service, async () => {
      await service.restart(deleteReadModels);
      await eventually(async () => expect(await listedIds()).toEqual(ids));
    });
    expect(appended).toEqual([]);
    const { items } = (await service.get(documentsPath(encounter))).body;
    expect(items).toEqual([expect.objectContaining({ document_id })]);
  });

  test('deleted while the service runs, they are rebuilt, and writes go on meanwhile', async () => {
    const before = await createPayers(20);
    expect(await listedIds()).toEqual(before);
    deleteReadModels();
    const after = await createPayers(5);
    await eventually(async () => expect(await listedIds()).toEqual([...before, ...after]));
    deleteReadModels();
    await eventually(async () => expect(await listedIds()).toEqual([...before, ...after]));
    const { body } = await service.get('/readyz');
    expect(body).toMatchObject({ status: 'ready', read_models: 'ok' });
  });

  test('what was appended while the service was down is there after a start', async () => {
    const ids = await createPayers(2);
    const late = samples.payer();
    await service.restart(() => appendPayer(late));
    await eventually(async () => expect(await listedIds()).toEqual([...ids, late.id]));
  });

  test('an event that cannot be folded is parked and told of, and all others are folded', async () => {
    const [first] = await createPayers(1);
    await append(recordStream(workspace(), 'patient', 'poisoned'), 'PatientUpserted', null);
    await append(documentStream(workspace(), 'poisoned', 'poisoned'), 'DocumentUploaded', null);
    const [last] = await createPayers(1);
    await eventually(async () => {
      const { status, projections } = await service.readiness();
      expect(status).toBe('ready');
      expect(projections[recordsModel]).toMatchObject({ behind: 0, parked: 1 });
      expect(projections[documentsModel]).toMatchObject({ behind: 0, parked: 1 });
    });
    expect(await listedIds()).toEqual([first, last]);
    const { body: patients } = await service.get('/integration/patients');
    expect(patients).toMatchObject({ items: [], unreadable: ['poisoned'] });
    const read = await service.get('/integration/patients/poisoned');
    expect([read.status, read.body.code]).toEqual([500, 'internal']);
    await service.restart();
    expect((await service.readiness()).projections[recordsModel]?.parked).toBe(1);
  });

  test('an event of a schema version that is still to come is parked, not misread', async () => {
    const [id] = await createPayers(1);
    const stream = recordStream(workspace(), 'payer', id as string);
    const appended = await appendedBy(service, async () => {
      await append(stream, 'PayerUpserted', { id, name: phi('Renamed'), shape: 'new' }, 2);
    });
    expect(appended).toEqual([`clinic.payer-${id}: PayerUpserted`]);
    await eventually(async () => {
      const { projections } = await service.readiness();
      expect(projections[recordsModel]).toMatchObject({ behind: 0, parked: 1 });
    });
    const { body: listed } = await service.get('/integration/payers');
    expect(listed).toMatchObject({ items: [], unreadable: [id] });
    const read = await service.get(`/integration/payers/${id}`);
    expect([read.status, read.body.code]).toEqual([503, 'unreadable']);
  });
});
