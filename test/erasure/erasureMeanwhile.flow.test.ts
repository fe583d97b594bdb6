import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDocumentStore, openReadModels, openStateStore } from '../../src/app/openBackend.ts';
import { eraseRecord } from '../../src/erasure/eraseRecord.ts';
import type { ErasurePorts } from '../../src/erasure/finishErasure.ts';
import { type Caller, newEvent } from '../../src/events/newEvent.ts';
import { documentStream, recordStream } from '../../src/events/streamNames.ts';
import type { EventLog } from '../../src/ports/eventLog.ts';
import { catalogEntry } from '../../src/records/catalog.ts';
import { documentForm, documentsPath } from '../support/documents.ts';
import { onEveryEngine } from '../support/engines.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/phi.ts';
import { samples } from '../support/samples.ts';
import type { TestService } from '../support/service.ts';

/** What is written while an erasure is under way. */
onEveryEngine((start) => {
  let service: TestService;
  let ports: ErasurePorts;
  let close: () => Promise<unknown>;
  beforeAll(async () => {
    service = await start();
    const { readModelUrl, stateUrl, documentsUrl } = service.config;
    const readModels = await openReadModels(readModelUrl);
    const stateStore = await openStateStore(stateUrl);
    const documentStore = await openDocumentStore(documentsUrl);
    ports = { eventLog: service.eventLog, readModels, stateStore, documentStore, webhooksOf: () => [] };
    close = () => Promise.all([readModels.close(), stateStore.close(), documentStore.close()]);
    await eventually(async () => expect((await service.get('/integration/patients')).status).toBe(200));
  });
  afterAll(async () => {
    await close();
    await service.stop();
  });

  const caller = (): Caller => ({
    workspace: service.workspaceId('clinic'),
    principal: { type: 'operator', id: 'test' },
    requestId: crypto.randomUUID(),
  });
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

  /** Erases a record, with something done right after its tombstone. */
  function erase(kind: string, id: string, { after }: { after: () => Promise<unknown> }) {
    const stream = streamOf(kind, id);
    const append: EventLog['append'] = async (...args) => {
      if (args[0] !== stream || args[1].type !== 'RecordErased') return service.eventLog.append(...args);
      const appended = await service.eventLog.append(...args);
      await after();
      return appended;
    };
    const eventLog = new Proxy(service.eventLog, {
      get(target, name) {
        const own = name === 'append' ? append : Reflect.get(target, name);
        return typeof own === 'function' ? own.bind(target) : own;
      },
    });
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

  test('a document that is removed right behind the tombstone of its encounter is erased, too', async () => {
    const { encounter, document } = await createVisit();
    const remove = async () =>
      expect((await service.delete(documentsPath(encounter, document))).status).toBe(200);
    await erase('encounter', encounter, { after: remove });
    const ofDocument = documentStream(service.workspaceId('clinic'), encounter, document);
    expect(await typesOf(ofDocument)).toEqual(['DocumentErased']);
  });
});
