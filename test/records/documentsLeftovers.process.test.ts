import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/platform/config.ts';
import { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { storedFiles } from '../support/files.ts';
import { phi } from '../support/output.ts';
import { ServiceProcess } from '../support/processes.ts';
import {
  beginUpload,
  createEncounter,
  documentForm,
  documentLine,
  documentsPath,
  pdfBytes,
} from '../support/samples.ts';
import { appendedBy, logLines, startTestService, type TestService } from '../support/service.ts';

/** That a process is gone is known after some seconds without a sign of life. */
const LONG_MS = 60_000;

const nothing = { objects: [], uploads: [] };

describe('an upload that breaks off', () => {
  let service: TestService;
  let encounter: string;
  beforeAll(async () => {
    service = await startTestService();
    encounter = await createEncounter(service);
  });
  afterAll(() => service.stop());

  test.each([
    ['within the first bytes of the file', 5_000],
    ['within the file', 3_000_000],
  ])('leaves nothing behind: %s', async (_label, bytes) => {
    const appended = await appendedBy(service, async () => {
      const upload = beginUpload(service, encounter, phi('document'));
      for (const chunk of pdfBytes(bytes)) upload.write(chunk);
      await eventually(() => expect(storedFiles(service.config).uploads).not.toEqual([]));
      upload.destroy();
      await eventually(() => expect(storedFiles(service.config)).toEqual(nothing));
    });
    expect(appended).toEqual([]);
  });

  test('leaves the service well when many clients go away at any moment', async () => {
    const appended = await appendedBy(service, async () => {
      const ends = Array.from({ length: 60 }, async (_, n) => {
        const upload = beginUpload(service, encounter, phi('document'));
        await new Promise<void>((sent) => upload.write(Buffer.alloc(n * 7_000, '%PDF-1.7\n'), () => sent()));
        upload.destroy();
      });
      await Promise.all(ends);
      await eventually(() => expect(storedFiles(service.config)).toEqual(nothing));
    });
    expect(appended).toEqual([]);
    expect((await service.get('/healthz')).status).toBe(200);
  });

  test('a download that breaks off leaves the service well, and is no error of it', async () => {
    const id = phi('document');
    const path = documentsPath(encounter, id);
    const content = Buffer.concat([...pdfBytes(5_000_000)]);
    const appended = await appendedBy(service, () =>
      service.upload(documentsPath(encounter), documentForm({ document_id: id, content })),
    );
    expect(appended).toEqual([documentLine(encounter, id)]);
    const stop = new AbortController();
    const started = await fetch(service.url + path, {
      headers: { 'x-api-key': service.key ?? '' },
      signal: stop.signal,
    });
    expect(started.status).toBe(200);
    stop.abort();
    const requestId = started.headers.get('request-id');
    await eventually(() => expect(logLines(`"${requestId}"`).map(({ msg }) => msg)).toEqual(['request']));
    expect((await service.get(path)).bytes.equals(content)).toBe(true);
  });
});

describe('a service killed in the middle of an upload', () => {
  let folder: string;
  let running: ServiceProcess | undefined;
  const start = async () => {
    running = new ServiceProcess({ DATA_DIR: folder });
    return { running, url: await running.url() };
  };
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'chartledger-killed-'));
  });
  afterEach(async () => {
    await running?.end('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  test(
    'leaves nothing behind once it is up again, and keeps what was acknowledged',
    async () => {
      const config = loadConfig({ DATA_DIR: folder });
      const first = await start();
      const key = /clk_\w{38}/.exec(first.running.stderr)?.[0];
      const client = new Client(first.url, key);
      const encounter = await createEncounter(client);
      const kept = phi('document');
      const form = documentForm({ document_id: kept });
      expect((await client.upload(documentsPath(encounter), form)).status).toBe(200);
      const before = storedFiles(config);

      const upload = beginUpload(client, encounter, phi('document'));
      for (const chunk of pdfBytes(3_000_000)) upload.write(chunk);
      await eventually(() =>
        expect(storedFiles(config).uploads.some((name) => name.endsWith('.part'))).toBe(true),
      );
      await first.running.end('SIGKILL');
      expect(storedFiles(config)).not.toEqual(before);

      client.url = (await start()).url;
      await eventually(() => expect(storedFiles(config)).toEqual(before), LONG_MS);
      const { body } = await client.get(documentsPath(encounter));
      expect(body.items.map((item: { document_id: string }) => item.document_id)).toEqual([kept]);
      expect((await client.get(documentsPath(encounter, kept))).status).toBe(200);
    },
    LONG_MS,
  );
});
