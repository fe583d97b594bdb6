import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { streamNameFilter } from '@eventstore/db-client';
import { expect, test } from 'vitest';
import { DriverClient } from '../../src/backends/eventstoredb/DriverClient.ts';
import { userStreams } from '../../src/backends/eventstoredb/LiveTail.ts';
import { subscribe } from '../../src/backends/eventstoredb/subscribe.ts';

test('a subscription without a connection ends with a word to its subscriber, and rejects for nobody', async () => {
  const client = new DriverClient('esdb://127.0.0.1:1?tls=false');
  await client.close();
  const rejected = new AbortController();
  const unhandled = once(process, 'unhandledRejection', { signal: rejected.signal }).catch(() => undefined);
  const ended = Promise.withResolvers<unknown>();
  subscribe(client, 0, streamNameFilter(userStreams), { entry: () => undefined, ended: ended.resolve });
  expect(await ended.promise).toMatchObject({ message: 'closed' });
  await nextTurn();
  rejected.abort();
  expect(await unhandled).toBeUndefined();
});
