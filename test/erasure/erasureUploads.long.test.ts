import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { documentStream, recordStream } from '../../src/domain/events/streams.ts';
import { completeErasures } from '../../src/modules/erasure/erase.ts';
import { receiveFile, uploadDocument } from '../../src/modules/records/commands/documents.ts';
import { openDocumentStore, openReadModels, openStateStore } from '../../src/server/openStorage.ts';
import type { EventLog, FollowOptions } from '../../src/storage/eventLog.ts';

import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { storedFiles } from '../support/files.ts';
import { phi } from '../support/output.ts';
import {
  beginUpload,
  createEncounter,
  documentForm,
  documentsPath,
  endUpload,
  pdf,
} from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

onEveryEngine((start) => {
  const folder = temporaryFolder();
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  const erase = async (encounter: string) => {
    const options = ['--workspace', service.workspaceId('clinic'), '--reason', 'Request 2026-117'];
    const { code, stderr } = await runCli(['records', 'erase', 'encounter', encounter, ...options], {
      env: { ...storesOf(service.config), DATA_DIR: folder },
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  };

  test('an upload that was under way when its encounter was erased leaves nothing', async () => {
    const encounter = await createEncounter(service);
    const outgoing = beginUpload(service, encounter, phi('document'));
    // Nobody tells when the service has let it in; one that it refuses before would leave nothing either.
    await service.get(documentsPath(encounter));
    await erase(encounter);
    const appended = await appendedBy(service, async () => {
      expect(await endUpload(outgoing)).toMatchObject({ status: 404, body: { code: 'not_found' } });
    });
    expect(appended.filter((line) => !line.includes('AccessRecorded'))).toEqual([]);
    if (service.config.documentsUrl.startsWith('file:')) {
      expect(storedFiles(service.config)).toEqual({ objects: [], uploads: [] });
    }
  });

  test('an upload to an encounter that is there costs the follower of erasures no read of it', async () => {
    const encounter = await createEncounter(service);
    expect((await service.upload(documentsPath(encounter), documentForm())).status).toBe(200);
    const { readModelUrl, stateUrl, documentsUrl } = service.config;
    const readModels = await openReadModels(readModelUrl);
    const stateStore = await openStateStore(stateUrl);
    const documentStore = await openDocumentStore(documentsUrl);
    const read: string[] = [];
    const ended = new AbortController();
    const eventLog = new Proxy(service.eventLog, {
      get(target, name) {
        const own = Reflect.get(target, name);
        if (typeof own !== 'function') return own;
        return (...args: [string & FollowOptions]) => {
          if (name === 'readStream') read.push(args[0]);
          return name === 'follow' ? untilCaughtUp(args[0]) : own.apply(target, args);
        };
      },
    });
    async function* untilCaughtUp(options: FollowOptions) {
      for await (const batch of service.eventLog.follow(options)) {
        if (batch.caughtUp) ended.abort();
        yield batch;
      }
    }
    try {
      const ports = { eventLog, readModels, stateStore, documentStore, webhooksOf: () => [] };
      await completeErasures(ports, ended.signal);
      expect(read).not.toContain(recordStream(service.workspaceId('clinic'), 'encounter', encounter));
    } finally {
      await Promise.all([readModels.close(), stateStore.close(), documentStore.close()]);
    }
  });

  test('one whose event comes behind the erasure, as it looked right before that, is erased, too', async () => {
    const encounter = await createEncounter(service);
    const documentStore = await openDocumentStore(service.config.documentsUrl);
    try {
      const file = await receiveFile(documentStore, 'report.pdf', Readable.from([pdf()]));
      const eventLog: Pick<EventLog, 'readStream' | 'append'> = {
        readStream: (...args) => service.eventLog.readStream(...args),
        async append(...args) {
          await erase(encounter);
          return service.eventLog.append(...args);
        },
      };
      const ports = { eventLog: eventLog as EventLog, documentStore };
      const fields = { document_id: phi('document'), category: 'lab_results' };
      const caller = {
        workspace: service.workspaceId('clinic'),
        principal: { type: 'operator', id: 'test' },
        requestId: randomUUID(),
      } as const;
      await uploadDocument(ports, caller, encounter, { fields, file }, 'any');
      const stream = documentStream(caller.workspace, encounter, fields.document_id);
      await eventually(async () => {
        const events = await service.eventLog.readStream(stream, { limit: 10 });
        expect(events.map(({ type }) => type)).toEqual(['DocumentErased']);
        expect(events[0]?.data.reason).toBe('Request 2026-117');
      });
      await expect(documentStore.get(file.objectId)).rejects.toMatchObject({ code: 'not_found' });
    } finally {
      await documentStore.close();
    }
  });
});
