import { afterAll, beforeAll, expect, test } from 'vitest';
import { documentStream, recordStream } from '../../src/domain/events/streams.ts';
import { catalogEntry } from '../../src/domain/records/catalog.ts';
import { eraseRecord } from '../../src/modules/erasure/erase.ts';
import type { ErasurePorts } from '../../src/modules/erasure/finish.ts';
import { appendTombstones } from '../../src/modules/erasure/tombstones.ts';
import { eraserIn, openErasurePorts } from '../support/erasure.ts';
import { eventually } from '../support/eventually.ts';
import { createEncounter, documentForm, documentsPath, samples, TestWorkspace } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

onEveryEngine((start) => {
  let service: TestService;
  let ports: ErasurePorts;
  let close: () => Promise<unknown>;
  beforeAll(async () => {
    service = await start();
    ({ ports, close } = await openErasurePorts(service));
  });
  afterAll(async () => {
    await close();
    await service.stop();
  });

  const caller = () => eraserIn(service);
  const typesOf = async (stream: string) =>
    (await service.eventLog.readStream(stream, { limit: 10 })).map(({ type }) => type);

  /** Appends an event that only a newer version can read. */
  function appendNewer(stream: string, type: string) {
    const event = new TestWorkspace(service.workspaceId('clinic')).event({ shape: 'new' }, type);
    return service.eventLog.append(
      stream,
      { ...event, metadata: { ...event.metadata, schemaVersion: 2 } },
      'any',
    );
  }

  test('an encounter that cannot be read is not left out of the erasure of its patient', async () => {
    const patient = samples.patient();
    await service.post('/integration/patients', patient);
    const streams: string[] = [];
    for (const { id } of [samples.encounter(patient.id), samples.encounter(patient.id)]) {
      await service.post('/integration/encounters', { id, patient_id: patient.id });
      streams.push(recordStream(caller().workspace, 'encounter', id));
    }
    const [unreadable, other] = streams as [string, string];
    await appendNewer(unreadable, 'EncounterUpserted');
    const erase = (withEncounters: boolean) =>
      eraseRecord(ports, caller(), catalogEntry('patient'), patient.id, {
        reason: 'asked for',
        withEncounters,
      });
    await eventually(async () => {
      await expect(erase(false)).rejects.toMatchObject({ obstacle: 'referred_to' });
    });
    await expect(erase(true)).rejects.toMatchObject({ code: 'unreadable' });
    const own = recordStream(caller().workspace, 'patient', patient.id);
    expect([await typesOf(own), await typesOf(other)]).toEqual([['RecordErased'], ['RecordErased']]);
    expect(await typesOf(unreadable)).toEqual(['EncounterUpserted', 'EncounterUpserted']);
  });

  test('an erasure that comes to an event that cannot be read holds up no other one', async () => {
    const { workspace } = caller();
    const encounter = await createEncounter(service);
    const form = documentForm();
    expect((await service.upload(documentsPath(encounter), form)).status).toBe(200);
    const payer = samples.payer();
    expect((await service.post('/integration/payers', payer)).status).toBe(200);
    const document = documentStream(workspace, encounter, String(form.get('document_id')));
    await appendNewer(document, 'DocumentUploaded');

    const erased = eraseRecord(ports, caller(), catalogEntry('encounter'), encounter, {
      reason: 'asked for',
    });
    await expect(erased).rejects.toMatchObject({ code: 'unreadable' });
    expect(await typesOf(recordStream(workspace, 'encounter', encounter))).toEqual(['RecordErased']);
    const stream = recordStream(workspace, 'payer', payer.id);
    const about = { kind: 'payer', record_id: payer.id, reason: 'asked for' };
    const appended = await appendedBy(service, async () => {
      await appendTombstones(service.eventLog, caller(), stream, 'Payer', about);
    });
    expect(appended).toEqual([`clinic.payer-${payer.id}: RecordErased`]);
    await eventually(async () => expect(await typesOf(stream)).toEqual(['RecordErased']));
  });
});
