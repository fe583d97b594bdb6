import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { DriverClient, loadDriver } from '../../src/storage/engines/eventstoredb/client.ts';
import { Positions } from '../../src/storage/engines/eventstoredb/positions.ts';
import { streamNames, userStreams } from '../../src/storage/engines/eventstoredb/read.ts';
import { subscribe } from '../../src/storage/engines/eventstoredb/subscribe.ts';

test('a subscription without a connection ends with a word to its subscriber, and rejects for nobody', async () => {
  const url = 'esdb://127.0.0.1:1?tls=false';
  const client = new DriverClient(await loadDriver(url), url);
  await client.close();
  const rejected = new AbortController();
  const unhandled = once(process, 'unhandledRejection', { signal: rejected.signal }).catch(() => undefined);
  const ended = Promise.withResolvers<unknown>();
  const reader = { client, positions: new Positions() };
  subscribe(reader, 0, streamNames(userStreams), { entry: () => undefined, ended: ended.resolve });
  expect(await ended.promise).toMatchObject({ message: 'closed' });
  await nextTurn();
  rejected.abort();
  expect(await unhandled).toBeUndefined();
});
