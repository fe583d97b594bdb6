import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { storedFiles } from '../support/files.ts';
import { phi } from '../support/output.ts';
import { createEncounter, documentLine, documentsPath, pdfBytes, streamUpload } from '../support/samples.ts';
import { appendedBy, newEvents, startTestService, type TestService } from '../support/service.ts';

/** 250 MB, as mebibytes. */
const LIMIT = 262_144_000;
/** A file held in memory would need more than this; buffers on their way do not. */
const MAX_GROWTH = 150 * 1024 * 1024;

describe('documents of 250 MB', () => {
  let service: TestService;
  let encounter: string;
  beforeAll(async () => {
    service = await startTestService();
    encounter = await createEncounter(service);
  });
  afterAll(() => service.stop());

  /** The size and SHA-256 of what a download sends. */
  function download(path: string): Promise<{ size: number; sha256: string }> {
    const { hostname, port } = new URL(service.url);
    const headers = { 'x-api-key': service.key ?? '' };
    return new Promise((resolve, reject) => {
      const outgoing = request({ hostname, port, path, headers, agent: false }, async (res) => {
        const hash = createHash('sha256');
        let size = 0;
        for await (const chunk of res) {
          hash.update(chunk);
          size += chunk.length;
        }
        resolve({ size, sha256: hash.digest('hex') });
      });
      outgoing.on('error', reject);
      outgoing.end();
    });
  }

  test('exactly 250 MB is taken, with Content-Length and chunked, in bounded memory', async () => {
    const hash = createHash('sha256');
    for (const chunk of pdfBytes(LIMIT)) hash.update(chunk);
    const sha256 = hash.digest('hex');
    const before = process.memoryUsage().rss;
    let growth = 0;
    const watch = setInterval(() => {
      growth = Math.max(growth, process.memoryUsage().rss - before);
    }, 50);
    const ids = [phi('document'), phi('document')] as const;
    const uploaded = await newEvents(service, async () => {
      for (const [index, id] of ids.entries())
        expect(await streamUpload(service, encounter, id, LIMIT, index > 0)).toMatchObject({ status: 200 });
    });
    const expected = { type: 'DocumentUploaded', data: { size: LIMIT, sha256 } };
    expect(uploaded).toMatchObject([expected, expected]);
    expect(await download(documentsPath(encounter, ids[1]))).toEqual({ size: LIMIT, sha256 });
    clearInterval(watch);
    expect(growth).toBeLessThan(MAX_GROWTH);
    for (const id of ids) {
      const appended = await appendedBy(service, () => service.delete(documentsPath(encounter, id)));
      expect(appended).toEqual([documentLine(encounter, id, 'DocumentRemoved')]);
    }
  });

  test.each([
    ['with Content-Length', LIMIT + 1, false],
    ['chunked', LIMIT + 1, true],
    ['with a Content-Length of 300 MB', 300 * 1024 * 1024, false],
  ])('one byte more, or many, is 413 and nothing is kept: %s', async (_label, size, chunked) => {
    const before = storedFiles(service.config);
    const appended = await appendedBy(service, async () => {
      const answer = await streamUpload(service, encounter, phi('document'), size, chunked);
      expect(answer).toMatchObject({ status: 413, body: { code: 'payload_too_large' } });
    });
    expect(appended).toEqual([]);
    await eventually(() => expect(storedFiles(service.config)).toEqual(before));
  });
});
