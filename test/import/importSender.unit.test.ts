import { afterEach, expect, test } from 'vitest';
import { ImportError } from '../../src/cli/import/importSource.ts';
import { RecordSender } from '../../src/cli/import/RecordSender.ts';
import { startFakeService } from '../support/fakeService.ts';

let service: Awaited<ReturnType<typeof startFakeService>>;
afterEach(() => service.stop());

/** A sender that hardly waits between its attempts. */
function senderTo(url: string, onWait: () => void = () => undefined): RecordSender {
  return new RecordSender({
    url: new URL(url),
    key: 'key',
    userAgent: 'test',
    stop: new AbortController().signal,
    abandon: new AbortController().signal,
    onWait,
    retries: { attempts: 4, firstDelayMs: 1, maxDelayMs: 2 },
  });
}

test('a record that the service fails on is given up, while others are answered', async () => {
  service = await startFakeService(({ id }) =>
    id === 'bad' ? { status: 500, body: { error: 'Something went wrong.' } } : 'accept',
  );
  const sender = senderTo(service.url);
  let given: unknown;
  const bad = sender.send('payers', { id: 'bad' }).then((result) => {
    given = result;
  });
  await sender.send('payers', { id: 'good' });
  await bad;
  expect(given).toEqual({
    accepted: false,
    status: 500,
    error: 'Given up after 4 attempts: status 500.',
  });
  expect(service.requests()).toBe(5);
});

test('a service that answers nothing any more ends the import', async () => {
  service = await startFakeService(({ number }) => (number === 0 ? 'accept' : 'hang up'));
  const sender = senderTo(service.url);
  await sender.send('payers', { id: 'good' });
  const failing = sender.send('payers', { id: 'next' });
  await expect(failing).rejects.toThrow(ImportError);
  await expect(failing).rejects.toThrow(/cannot take records \(.+\)\. Import again when it can/);
  expect(service.requests()).toBe(5);
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
  const sender: RecordSender = senderTo(service.url, () => {
    second = Promise.resolve().then(() => sender.send('payers', { id: 'second' }));
  });
  await sender.send('payers', { id: 'first' });
  await second;
  expect(service.accepted.toSorted()).toEqual(['first', 'second']);
  expect(refused).toBe(1);
});
