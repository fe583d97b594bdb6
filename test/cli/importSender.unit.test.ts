import { afterEach, expect, test } from 'vitest';
import { ImportClient } from '../../src/cli/commands/import/client.ts';
import { BatchSender } from '../../src/cli/commands/import/send.ts';
import { ImportError, type Row } from '../../src/cli/commands/import/source.ts';

import { startFakeService } from '../support/network.ts';

let service: Awaited<ReturnType<typeof startFakeService>>;
afterEach(() => service.stop());

/** A sender that hardly waits between its attempts. */
function senderTo(url: string, onWait: () => void = () => undefined): BatchSender {
  const client = new ImportClient({
    url: new URL(url),
    key: 'key',
    userAgent: 'test',
    stop: new AbortController().signal,
    abandon: new AbortController().signal,
    onWait,
    retries: { attempts: 4, firstDelayMs: 1, maxDelayMs: 2 },
  });
  return new BatchSender(client, undefined);
}

function rowsOf(...ids: string[]): Row[] {
  return ids.map((id) => {
    const item = { kind: 'payer', source: 'payers.ndjson:1', record: { id } };
    return { item, line: `${JSON.stringify({ kind: 'payer', record: { id } })}\n` };
  });
}

test('a service that answers nothing any more ends the import', async () => {
  service = await startFakeService(({ number }) => (number === 0 ? 'accept' : 'hang up'));
  const sender = senderTo(service.url);
  await sender.send(rowsOf('good'), 'key-0');
  const failing = sender.send(rowsOf('next'), 'key-1');
  await expect(failing).rejects.toThrow(ImportError);
  await expect(failing).rejects.toThrow(
    /cannot accept records \(.+\)\. When it can, run the same import again/,
  );
  expect(service.requests()).toBe(5);
});

test('answers that are always cut off end the import', async () => {
  service = await startFakeService(() => ({ lines: [], isCutOff: true }));
  await expect(senderTo(service.url).send(rowsOf('a', 'b'), 'key')).rejects.toThrow(/answers are cut off/);
  expect(service.requests()).toBe(4);
});

test('an earlier try that is still under way is waited for', async () => {
  const inUse = { status: 409, body: { error: 'In use.', code: 'idempotency_key_in_use', retryAfter: 0.01 } };
  service = await startFakeService(({ number }) => (number < 6 ? inUse : 'accept'));
  expect(await senderTo(service.url).send(rowsOf('a'), 'key')).toMatchObject({
    results: [{ line: 1, status: 200 }],
  });
});

test('what is sent while a rate limit is waited out waits too', async () => {
  let limitedUntil = 0;
  let refused = 0;
  service = await startFakeService(({ number }) => {
    const now = performance.now();
    if (number === 0) limitedUntil = now + 1000;
    if (now >= limitedUntil) return 'accept';
    refused++;
    return { status: 429, body: { error: 'Too many requests.', retryAfter: 1 } };
  });
  let second: Promise<unknown> | undefined;
  const sender: BatchSender = senderTo(service.url, () => {
    second = Promise.resolve().then(() => sender.send(rowsOf('second'), 'key-1'));
  });
  await sender.send(rowsOf('first'), 'key-0');
  await second;
  expect(service.accepted.toSorted()).toEqual(['first', 'second']);
  expect(refused).toBe(1);
});
