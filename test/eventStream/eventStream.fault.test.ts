import { afterAll, beforeAll, expect, test } from 'vitest';
import { formatPosition } from '../../src/modules/eventStream/position.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { EventReader } from '../support/log.ts';
import { samples } from '../support/samples.ts';
import { withOwnServers } from '../support/servers.ts';
import { readAll, startTestService, type TestService } from '../support/service.ts';

const WRITES = 60;
const LONG_MS = 120_000;

withOwnServers('the event stream while its servers are killed', (servers) => {
  let service: TestService;
  let client: Client;
  beforeAll(async () => {
    service = await startTestService(await servers.start());
    client = service.as((await service.createKey('clinic', ['write', 'events'])).key);
  }, LONG_MS);
  afterAll(async () => {
    await service.stop();
    await servers.remove();
  });

  /** Writes one after the other, each until it is answered with 200. */
  async function write(count: number): Promise<void> {
    for (let n = 0; n < count; n += 1) {
      const payer = samples.payer();
      await eventually(
        async () => expect((await client.post('/integration/payers', payer)).status).toBe(200),
        LONG_MS,
      );
    }
  }

  test(
    'readers go on by themselves or come back, and see every event exactly once, in order',
    async () => {
      const readers = [await EventReader.open(client)];
      const last = () => readers.at(-1) as EventReader;
      await write(WRITES);
      await last().count(WRITES, LONG_MS);
      await servers.eventLog.kill();
      const page = await client.get('/events');
      expect([page.status, page.body.code]).toEqual([503, 'unavailable']);
      await servers.eventLog.start();
      await write(WRITES);
      await servers.database.kill();
      await servers.database.start();
      await write(WRITES);
      const expected = await eventually(async () => {
        const events = await readAll(service.eventLog);
        return events.filter(({ type }) => type === 'PayerUpserted');
      }, LONG_MS);
      const seen = () => readers.flatMap(({ events }) => events);
      await eventually(async () => {
        if (last().ended) {
          readers.push(
            await EventReader.open(client, '/events', { 'last-event-id': last().lastEventId as string }),
          );
        }
        expect(seen().length).toBeGreaterThanOrEqual(expected.length);
      }, LONG_MS);
      expect(seen().map(({ sequence, id }) => [sequence, id])).toEqual(
        expected.map(({ position, id }) => [formatPosition(position), id]),
      );
      last().kill();
    },
    LONG_MS * 2,
  );
});
