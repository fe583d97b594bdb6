import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { catalogEntry } from '../../src/domain/records/catalog.ts';
import { holdsDocument } from '../../src/modules/erasure/holdState.ts';
import { addHold, releaseHold } from '../../src/modules/erasure/holds.ts';
import { purgeDocuments } from '../../src/modules/records/commands/purgeDocuments.ts';
import { openDocumentStore, openStateStore } from '../../src/server/openStorage.ts';
import type { DocumentStore } from '../../src/storage/documentStore.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';
import { eventually } from '../support/eventually.ts';
import { storedFiles } from '../support/files.ts';
import { phi } from '../support/output.ts';
import { createEncounter, documentForm, documentsPath, pdf } from '../support/samples.ts';
import { newEvents, startTestService, type TestService } from '../support/service.ts';

const DAY_MS = 86_400_000;

/** Replaces one document, removes another and uploads a third; the objects by what became of them. */
async function uploadReplaceRemove(service: TestService) {
  const encounter = await createEncounter(service);
  const [replaced, removed, untouched] = ['replaced', 'removed', 'untouched'].map(phi) as [
    string,
    string,
    string,
  ];
  const upload = (document_id: string, text: string) =>
    service.upload(documentsPath(encounter), documentForm({ document_id, content: pdf(text) }));
  const events = await newEvents(service, async () => {
    await upload(replaced, 'first');
    await upload(removed, 'removed');
    await upload(untouched, 'untouched');
    await upload(replaced, 'second');
    await service.delete(documentsPath(encounter, removed));
  });
  const objects = events.map(({ data }) => data.object_id as string);
  const [old, gone, stays, current] = objects as [string, string, string, string];
  return { encounter, replaced, untouched, superseded: [old, gone].sort(), current: [stays, current].sort() };
}

const stored = (service: TestService) => storedFiles(service.config).objects.sort();

describe('replaced and removed documents are kept for DOCUMENT_RETENTION_DAYS', () => {
  let service: TestService;
  afterEach(() => service.stop());

  test('with 0 days they go at the next start, and what is current stays', async () => {
    service = await startTestService({ DOCUMENT_RETENTION_DAYS: '0' });
    const { encounter, replaced, untouched, superseded, current } = await uploadReplaceRemove(service);
    expect(stored(service)).toEqual([...superseded, ...current].sort());
    await service.restart();
    await eventually(() => expect(stored(service)).toEqual(current));
    expect((await service.get(documentsPath(encounter, replaced))).text).toBe(pdf('second').toString());
    expect((await service.get(documentsPath(encounter, untouched))).status).toBe(200);
  });

  describe('by the clock', () => {
    let stateStore: StateStore;
    let documentStore: DocumentStore;
    beforeEach(async () => {
      service = await startTestService();
      stateStore = await openStateStore(service.config.stateUrl);
      documentStore = await openDocumentStore(service.config.documentsUrl);
    });
    afterEach(() => Promise.all([stateStore.close(), documentStore.close()]));

    const purgeAfter = (days: number, retentionDays = 30) => {
      const clock = { now: () => Date.now() + days * DAY_MS };
      const { eventLog } = service;
      const isHeld = (stream: string) => holdsDocument(eventLog, stream);
      const ports = { eventLog, stateStore, documentStore, clock, isHeld };
      return purgeDocuments(ports, retentionDays, new AbortController().signal);
    };

    test('with 30 days they stay for 30 days and go then', async () => {
      const { superseded, current } = await uploadReplaceRemove(service);
      const all = [...superseded, ...current].sort();
      await purgeAfter(0);
      expect(stored(service)).toEqual(all);
      await purgeAfter(29.99);
      expect(stored(service)).toEqual(all);
      await purgeAfter(30.01);
      expect(stored(service)).toEqual(current);
    });

    test('what is held stays until the hold is released, however often it is purged', async () => {
      const held = await uploadReplaceRemove(service);
      const other = await uploadReplaceRemove(service);
      const caller = {
        workspace: service.workspaceId('clinic'),
        principal: { type: 'operator', id: 'test' },
        requestId: crypto.randomUUID(),
      } as const;
      const { eventLog } = service;
      const entry = catalogEntry('encounter');
      const id = await addHold(eventLog, caller, { entry, id: held.encounter }, 'Case 2031-17');
      const all = [...held.superseded, ...held.current, ...other.current].sort();
      for (const _ of [1, 2]) {
        await purgeAfter(31);
        expect(stored(service)).toEqual(all);
      }
      await releaseHold(eventLog, caller, id, 'closed');
      await purgeAfter(31);
      expect(stored(service)).toEqual([...held.current, ...other.current].sort());
    });

    test('a purge goes on where the last one stopped, and may be repeated', async () => {
      const first = await uploadReplaceRemove(service);
      await purgeAfter(31);
      const second = await uploadReplaceRemove(service);
      await purgeAfter(31);
      await purgeAfter(31);
      expect(stored(service)).toEqual([...first.current, ...second.current].sort());
    });
  });
});
