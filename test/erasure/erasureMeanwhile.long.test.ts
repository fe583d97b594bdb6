import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { newEvent } from '../../src/domain/events/newEvent.ts';
import { documentStream, recordStream } from '../../src/domain/events/streams.ts';
import { catalogEntry } from '../../src/domain/records/catalog.ts';
import { eraseRecord } from '../../src/modules/erasure/erase.ts';
import { type ErasurePorts, finishErasure } from '../../src/modules/erasure/finish.ts';
import { addHold } from '../../src/modules/erasure/holds.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import { eraserIn, openErasurePorts } from '../support/erasure.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { documentForm, documentsPath, samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

/** What is written while an erasure is under way. */
onEveryEngine((start) => {
  let service: TestService;
  let ports: ErasurePorts;
  let close: () => Promise<unknown>;
  beforeAll(async () => {
    service = await start();
    ({ ports, close } = await openErasurePorts(service));
    await eventually(async () => expect((await service.get('/integration/patients')).status).toBe(200));
  });
  afterAll(async () => {
    await close();
    await service.stop();
  });

  const caller = () => eraserIn(service);
  const streamOf = (kind: string, id: string) => recordStream(service.workspaceId('clinic'), kind, id);
  const typesOf = async (stream: string) =>
    (await service.eventLog.readStream(stream, { limit: 100 })).map(({ type }) => type);

  async function addEncounter(patient_id: string): Promise<string> {
    const id = phi('encounter');
    expect((await service.post('/integration/encounters', { id, patient_id })).status).toBe(200);
    return id;
  }

  /** An encounter with a document, and its patient. */
  async function createVisit() {
    const sent = samples.patient();
    const patient = sent.id;
    expect((await service.post('/integration/patients', sent)).status).toBe(200);
    const encounter = await addEncounter(patient);
    const document = phi('document');
    const form = documentForm({ document_id: document });
    expect((await service.upload(documentsPath(encounter), form)).status).toBe(200);
    return { patient, encounter, document };
  }

  /** A change of an encounter by a request that looked for the patient before the erasure. */
  const change = (encounter: string, patient_id: string) => {
    const { eventType } = catalogEntry('encounter');
    const event = newEvent(caller(), eventType, { id: encounter, patient_id, status: phi('status') });
    return service.eventLog.append(streamOf('encounter', encounter), event, 'any');
  };

  /** The event log with one function of its own. */
  const withOwn = <Name extends 'append' | 'readStream'>(own: Name, value: EventLog[Name]) =>
    new Proxy(service.eventLog, {
      get(target, name) {
        const found = name === own ? value : Reflect.get(target, name);
        return typeof found === 'function' ? found.bind(target) : found;
      },
    });

  interface Meanwhile {
    before?: () => Promise<unknown>;
    after?: () => Promise<unknown>;
  }

  /** Erases a record, with something done right before or after its tombstone. */
  function erase(kind: string, id: string, { before, after }: Meanwhile) {
    const stream = streamOf(kind, id);
    const append: EventLog['append'] = async (...args) => {
      if (args[0] !== stream || args[1].type !== 'RecordErased') return service.eventLog.append(...args);
      await before?.();
      const appended = await service.eventLog.append(...args);
      await after?.();
      return appended;
    };
    const eventLog = withOwn('append', append);
    const options = { reason: 'Request 2026-117', withEncounters: kind === 'patient' };
    return eraseRecord({ ...ports, eventLog }, caller(), catalogEntry(kind), id, options);
  }

  test('an encounter that is changed right behind the tombstone of its patient is erased, too', async () => {
    const { patient, encounter, document } = await createVisit();
    const begun = phi('encounter');
    const meanwhile = async () => {
      await change(encounter, patient);
      await change(begun, patient);
    };
    const { isComplete } = await erase('patient', patient, { after: meanwhile });
    expect(isComplete).toBe(true);
    expect(await typesOf(streamOf('encounter', encounter))).toEqual(['RecordErased']);
    const ofDocument = documentStream(service.workspaceId('clinic'), encounter, document);
    expect(await typesOf(ofDocument)).toEqual(['DocumentErased']);
    // What began behind the tombstone is no part of the erasure.
    expect(await typesOf(streamOf('encounter', begun))).toEqual(['EncounterUpserted']);
  });

  test('what comes to a patient only behind its tombstone stays, with its history', async () => {
    const [{ patient }, moved, merged] = [await createVisit(), await createVisit(), await createVisit()];
    const { eventType } = catalogEntry('patient');
    const merge = newEvent(caller(), eventType, { id: merged.patient, merged_into: patient });
    const meanwhile = async () => {
      await change(moved.encounter, patient);
      await service.eventLog.append(streamOf('patient', merged.patient), merge, 'any');
    };
    const { tombstones } = await erase('patient', patient, { after: meanwhile });
    expect(tombstones.map(({ type }) => type)).toEqual(['RecordErased', 'RecordErased', 'DocumentErased']);
    const twice = (type: string) => [type, type];
    expect(await typesOf(streamOf('encounter', moved.encounter))).toEqual(twice('EncounterUpserted'));
    expect(await typesOf(streamOf('patient', merged.patient))).toEqual(twice('PatientUpserted'));
    expect(await typesOf(streamOf('encounter', merged.encounter))).toEqual(['EncounterUpserted']);
  });

  test('a document that is removed right behind the tombstone of its encounter is erased, too', async () => {
    const { encounter, document } = await createVisit();
    const remove = async () =>
      expect((await service.delete(documentsPath(encounter, document))).status).toBe(200);
    await erase('encounter', encounter, { after: remove });
    const ofDocument = documentStream(service.workspaceId('clinic'), encounter, document);
    expect(await typesOf(ofDocument)).toEqual(['DocumentErased']);
  });

  test('what a legal hold has restored stays when the erasure is looked at again, whatever was changed since', async () => {
    const { patient, encounter, document } = await createVisit();
    const other = await addEncounter(patient);
    const { patient: next } = await createVisit();
    const hold = () =>
      addHold(service.eventLog, caller(), { entry: catalogEntry('encounter'), id: encounter }, 'Case 17');
    await expect(erase('patient', patient, { before: hold })).rejects.toMatchObject({ obstacle: 'held' });
    await change(encounter, next);
    const streams = [
      streamOf('patient', patient),
      streamOf('encounter', encounter),
      streamOf('encounter', other),
      documentStream(service.workspaceId('clinic'), encounter, document),
    ];
    const before = await Promise.all(streams.map(typesOf));
    expect(before[0]).toEqual(['PatientUpserted', 'RecordErased', 'PatientUpserted']);
    const [tombstone] = await service.eventLog.readStream(streams[0] as string, { from: 1, limit: 1 });
    await expect(finishErasure(ports, tombstone as RecordedEvent)).rejects.toMatchObject({
      obstacle: 'held',
    });
    expect(await Promise.all(streams.map(typesOf))).toEqual(before);
  });

  test('an encounter that a legal hold has restored is billed as before', async () => {
    const { encounter } = await createVisit();
    const bill = (claim_id: string) =>
      service.post(`/integration/encounters/${encodeURIComponent(encounter)}/billed`, { claim_id });
    expect((await bill('claim-1')).status).toBe(200);
    const hold = () =>
      addHold(service.eventLog, caller(), { entry: catalogEntry('encounter'), id: encounter }, 'Case 17');
    await expect(erase('encounter', encounter, { before: hold })).rejects.toMatchObject({ obstacle: 'held' });
    expect(await typesOf(streamOf('encounter', encounter))).toEqual([
      ...['EncounterUpserted', 'RecordErased', 'EncounterUpserted'],
    ]);
    const appended = await appendedBy(service, async () => {
      expect(await bill('claim-2')).toMatchObject({ status: 200, body: { success: true } });
    });
    expect(appended).toEqual([expect.stringMatching(/: EncounterBilled$/)]);
  });

  test('a hold on an encounter counts also where all was sent again right behind the tombstone', async () => {
    const { patient, encounter } = await createVisit();
    const hold = () =>
      addHold(service.eventLog, caller(), { entry: catalogEntry('encounter'), id: encounter }, 'Case 17');
    const sendAgain = async () => {
      const sent = { ...samples.patient(), id: patient };
      expect((await service.post('/integration/patients', sent)).status).toBe(200);
      await change(encounter, patient);
    };
    const erasure = erase('patient', patient, { before: hold, after: sendAgain });
    await expect(erasure).rejects.toMatchObject({ obstacle: 'held' });
    const types = await typesOf(streamOf('patient', patient));
    expect(types).toEqual(['PatientUpserted', 'RecordErased', 'PatientUpserted', 'PatientUpserted']);
  });

  test('a record that two processes restore at the same time is restored once', async () => {
    const { patient } = await createVisit();
    const stream = streamOf('patient', patient);
    const hold = () =>
      addHold(service.eventLog, caller(), { entry: catalogEntry('patient'), id: patient }, 'Case 17');
    await expect(
      erase('patient', patient, { before: hold, after: () => Promise.reject(new Error('stopped')) }),
    ).rejects.toThrow('stopped');
    const [tombstone] = await service.eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
    const finish = (of: ErasurePorts) =>
      expect(finishErasure(of, tombstone as RecordedEvent)).rejects.toMatchObject({ obstacle: 'held' });
    const others = [() => finish(ports)];
    // The other process restores it right after this one has looked whether it is restored.
    const eventLog = withOwn('readStream', async (...args: Parameters<EventLog['readStream']>) => {
      const found = await service.eventLog.readStream(...args);
      if (args[0] === stream && args[1].from === 1 + Number(tombstone?.revision)) await others.pop()?.();
      return found;
    });
    await finish({ ...ports, eventLog });
    expect(others).toEqual([]);
    expect(await typesOf(stream)).toEqual(['PatientUpserted', 'RecordErased', 'PatientUpserted']);
  });
});
