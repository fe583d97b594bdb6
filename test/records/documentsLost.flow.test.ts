import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JsonObject } from '../../src/domain/events/event.ts';
import { unavailable } from '../../src/platform/errors.ts';
import { openDocumentStore } from '../../src/server/openStorage.ts';
import type { DocumentStore } from '../../src/storage/documentStore.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import type { Client } from '../support/client.ts';
import { freshId, sendFhir } from '../support/fhir.ts';
import { storedFiles } from '../support/files.ts';
import { keyed } from '../support/log.ts';
import { phi } from '../support/output.ts';
import { createEncounter, documentForm, documentLine, documentsPath, pdf } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { appendedBy, startFaultyApp, type TestService } from '../support/service.ts';

onEveryEngine((start) => {
  let service: TestService;
  let encounter: string;
  let store: DocumentStore;
  /** Taken for gone while it was frozen: others discarded what it uploads just before its event is in the log. */
  let frozen: Client & { stop(): Promise<void> };
  beforeAll(async () => {
    service = await start();
    encounter = await createEncounter(service, freshId('encounter'));
    store = await openDocumentStore(service.config.documentsUrl);
    const append: EventLog['append'] = async (stream, event, expected) => {
      if (event.type === 'DocumentUploaded') await store.discard(String(event.data.object_id));
      return service.eventLog.append(stream, event, expected);
    };
    frozen = await startFaultyApp(service, { eventLog: { append } });
  });
  afterAll(async () => {
    await frozen.stop();
    await store.close();
    await service.stop();
  });

  test('an upload whose file was lost is stored when it is sent again with its key', async () => {
    const document_id = phi('document');
    const headers = keyed();
    const line = documentLine(encounter, document_id);
    const send = (to: Client) => to.upload(documentsPath(encounter), documentForm({ document_id }), headers);
    const appended = await appendedBy(service, async () => {
      expect(await send(frozen)).toMatchObject({ status: 503, body: { code: 'unavailable' } });
      for (let repeat = 1; repeat <= 2; repeat += 1)
        expect(await send(service)).toMatchObject({ status: 200, body: { version: 2 } });
    });
    expect(appended).toEqual([line, line]);
    const { status, bytes } = await service.get(documentsPath(encounter, document_id));
    expect({ status, bytes }).toEqual({ status: 200, bytes: pdf() });
  });

  test('what replaced a lost file in the meantime stays', async () => {
    const document_id = phi('document');
    const headers = keyed();
    const line = documentLine(encounter, document_id);
    const upload = (to: Client, content: Buffer, how = {}) =>
      to.upload(documentsPath(encounter), documentForm({ document_id, content }), how);
    const appended = await appendedBy(service, async () => {
      expect((await upload(frozen, pdf('lost'), headers)).status).toBe(503);
      expect((await upload(service, pdf('newer'))).status).toBe(200);
      expect(await upload(service, pdf('lost'), headers)).toMatchObject({
        status: 200,
        body: { version: 1 },
      });
    });
    expect(appended).toEqual([line, line]);
    expect((await service.get(documentsPath(encounter, document_id))).bytes).toEqual(pdf('newer'));
  });

  test('a document of a message whose file was lost is stored with the next message that has it', async () => {
    const id = freshId('document');
    const attachment = { contentType: 'application/pdf', data: pdf().toString('base64'), title: 'Report' };
    const reference: JsonObject = {
      ...{ resourceType: 'DocumentReference', id, status: 'current' },
      type: { coding: [{ system: 'http://loinc.org', code: '18842-5' }] },
      ...{ content: [{ attachment }], context: { encounter: [{ reference: `Encounter/${encounter}` }] } },
    };
    const put = (to: Client) => sendFhir(to, `/fhir/DocumentReference/${id}`, reference, {}, 'PUT');
    const appended = await appendedBy(service, async () => {
      expect((await put(frozen)).status).toBe(503);
      expect((await put(service)).status).toBe(200);
    });
    expect(appended.filter((line) => line.includes('document-'))).toEqual(
      Array.from({ length: 2 }, () => documentLine(encounter, id)),
    );
    expect((await service.get(documentsPath(encounter, id))).bytes).toEqual(pdf());
  });

  test('a file is not kept where the event log was away before anything was appended', async () => {
    let isAway = false;
    const readStream: EventLog['readStream'] = async (...read) => {
      if (isAway) throw unavailable('event log');
      return service.eventLog.readStream(...read);
    };
    const app = await startFaultyApp(service, { eventLog: { readStream } });
    const files = () => (isFolder ? storedFiles(service.config) : undefined);
    const upload = () => app.upload(documentsPath(encounter), documentForm());
    const isFolder = service.config.documentsUrl.startsWith('file:');
    const appended = await appendedBy(service, async () => {
      expect((await upload()).status).toBe(200);
      const before = files();
      isAway = true;
      expect(await upload()).toMatchObject({ status: 503, body: { code: 'unavailable' } });
      expect(files()).toEqual(before);
    });
    expect(appended).toHaveLength(1);
    await app.stop();
  });
});
