import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { ImportClient } from '../../src/cli/commands/import/client.ts';
import { sendDocuments } from '../../src/cli/commands/import/documents.ts';
import { createProgress, ReportFile } from '../../src/cli/commands/import/send.ts';
import { ImportState, ImportTally, tallySchema } from '../../src/cli/commands/import/state.ts';

import { temporaryFolder } from '../support/cli.ts';

const QUICK_MS = 50;

/** Starts a service that takes long for each upload. */
async function slowService(): Promise<URL> {
  const server = createServer(async (req, res) => {
    req.resume();
    await once(req, 'end');
    await sleep(4 * QUICK_MS);
    res.end(JSON.stringify({ success: true, document_id: 'scan', version: 1 }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

test('an upload may take longer than other requests: as long as the service lets it', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'scan.pdf');
  writeFileSync(path, '%PDF-1.7');
  const stop = new AbortController();
  const client = new ImportClient({
    ...{ url: await slowService(), key: 'key', userAgent: 'test' },
    ...{ stop: stop.signal, abandon: new AbortController().signal, onWait: () => undefined },
    retries: { attempts: 1, firstDelayMs: 1, maxDelayMs: 1 },
    requestMs: QUICK_MS,
  });
  const request = { path: '/integration/batch', body: () => new Uint8Array() };
  await expect(client.send(request)).rejects.toThrow('no answer in time');
  const place = (name: string) => ({ path: join(folder, name), size: 0 });
  const reports = { rejects: place('rejects'), warnings: place('warnings') };
  const identity = { key: '', options: {}, input: {} };
  const tally = new ImportTally(tallySchema.parse({}));
  const job = {
    ...{ source: undefined, documents: undefined, client, batches: undefined, tally, stop },
    state: ImportState.open(join(folder, 'state.json'), { identity, reports, isFresh: true }),
    rejects: new ReportFile<never>(reports.rejects),
    warnings: new ReportFile<never>(reports.warnings),
    progress: createProgress(false),
  };
  const document = { path, source: 'visit/scan.pdf', encounterId: 'visit', documentId: 'scan' };
  await sendDocuments(job as never, [{ ...document, category: 'medical_record' }]);
  expect(tally.counts()).toMatchObject({ accepted: 1, rejected: 0 });
});
