import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { readEvents } from '../../src/api/routes/events.ts';
import { routeOf } from '../../src/api/schemas/endpoint.ts';
import { createApp } from '../../src/api/server/app.ts';
import { UnknownKeyTally } from '../../src/modules/audit/requestLog.ts';
import { KeyDirectory } from '../../src/modules/auth/keyDirectory.ts';
import { Consumers } from '../../src/modules/eventStream/consumers.ts';
import { EventStream } from '../../src/modules/eventStream/eventStream.ts';
import { feedThread } from '../../src/server/eventStream.ts';
import { systemClock } from '../../src/storage/rateLimiters.ts';
import type { ReadModels } from '../../src/storage/readModels.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';
import type { TestService } from './service.ts';

/**
 * Starts `GET /events` alone over a service's log, with a comment every 50 ms; a reader that takes nothing for 300 ms is cut off.
 * `closed` resolves when a connection was closed.
 */
export async function quickStreams({ eventLog, config }: Pick<TestService, 'eventLog' | 'config'>) {
  const directory = await KeyDirectory.open(eventLog);
  const feed = new EventStream(feedThread(config.eventLogUrl), async () => ({
    key: new Uint8Array(32),
    epoch: 1,
  }));
  const ports = {
    ...{ eventLog, readModels: {} as ReadModels, directory, feed, publicUrl: undefined },
    consumers: new Consumers({ stateStore: {} as StateStore, clock: systemClock }),
  };
  const route = routeOf(readEvents({ heartbeatMs: 50, stalledMs: 300 }), ports);
  const app = createApp([route], {
    gate: { directory, limit: async () => undefined, unknownKeys: new UnknownKeyTally(eventLog) },
    eventLog,
    logger: pino({ level: 'silent' }),
    draining: new AbortController().signal,
    clientIp: () => '127.0.0.1',
  });
  const server = createServer(app).listen(0, '127.0.0.1');
  const closed = new Promise((resolve) => server.on('connection', (socket) => socket.once('close', resolve)));
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    closed: () => closed,
    async stop() {
      await feed.close();
      server.close();
      server.closeAllConnections();
      directory.close();
    },
  };
}
