import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CloudEvent } from '../../src/modules/eventStream/cloudEvents.ts';
import { LiveWorkspaces, shortly, writePayers } from '../support/liveWorkspaces.ts';
import { EventReader } from '../support/log.ts';
import { samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import type { TestService } from '../support/service.ts';

const KILLS = 12;
const LONG_MS = 120_000;

onEveryEngine((start) => {
  let service: TestService;
  let workspaces: LiveWorkspaces;
  beforeAll(async () => {
    service = await start();
    workspaces = new LiveWorkspaces(service);
  });
  afterAll(() => service.stop());

  test(
    'a reader that is killed and comes back, again and again during an import, sees every event exactly once, in order',
    async () => {
      const { label, client } = await workspaces.fresh();
      const seen: CloudEvent[] = [];
      let lastEventId: string | undefined;
      const until = { stop: false };
      const importing = writePayers(client, until);
      for (let kill = 0; kill < KILLS; kill += 1) {
        const reader = new EventReader(
          client,
          '/events',
          lastEventId ? { 'last-event-id': lastEventId } : {},
        );
        await reader.count(1 + (kill % 30));
        reader.kill();
        seen.push(...reader.events);
        lastEventId = reader.lastEventId;
      }
      until.stop = true;
      await importing;
      const expected = await workspaces.logged(label);
      const reader = new EventReader(client, '/events', { 'last-event-id': lastEventId as string });
      await reader.count(expected.length - seen.length, LONG_MS);
      reader.kill();
      seen.push(...reader.events);
      expect(shortly(seen)).toEqual(expected);
      expect(seen.length).toBeGreaterThan(KILLS);
    },
    LONG_MS,
  );

  test(
    'a service that stops ends its streams at once, and readers go on at the next one',
    async () => {
      const own = await start();
      const { key } = await own.createKey('clinic', ['write', 'events']);
      const reader = await EventReader.open(own.as(key));
      const polling = own.as(key).get('/events?wait=50&kinds=facility');
      await own.post('/integration/payers', samples.payer());
      await reader.count(1);
      await own.restart();
      await reader.end();
      const { status, text } = await polling;
      expect([status, text]).toEqual([200, '']);
      await own.post('/integration/payers', samples.payer());
      const next = await EventReader.open(own.as(key), '/events', {
        'last-event-id': reader.lastEventId as string,
      });
      await next.count(1);
      expect([...reader.events, ...next.events].map(({ data }) => data.version)).toEqual([1, 1]);
      next.kill();
      await own.stop();
    },
    LONG_MS,
  );

  test('many readers of one workspace all see the same, live', async () => {
    const { label, client } = await workspaces.fresh();
    const readers = await Promise.all(Array.from({ length: 10 }, () => EventReader.open(client)));
    await writePayers(client, 50);
    const late = await EventReader.open(client);
    await writePayers(client, 50);
    const expected = await workspaces.logged(label);
    for (const reader of [...readers, late]) {
      expect(shortly(await reader.count(100))).toEqual(expected);
      reader.kill();
    }
  });

  test('a position in the middle of what came together loses and repeats nothing', async () => {
    const { client } = await workspaces.fresh();
    const live = await EventReader.open(client);
    await writePayers(client, 30);
    const all = await live.count(30);
    const readers = await Promise.all(
      all.map(({ sequence }) => EventReader.open(client, `/events?after=${sequence}`)),
    );
    await writePayers(client, 1);
    await live.count(31);
    for (const [index, reader] of readers.entries()) {
      expect(shortly(await reader.count(30 - index))).toEqual(shortly(all.slice(index + 1)));
      reader.kill();
    }
    live.kill();
  });

  test('a deactivated key or workspace ends its streams and polls, and no others', async () => {
    const { client, key, label } = await workspaces.fresh();
    const other = await service.createKey(label, ['events']);
    const [first, second] = await Promise.all([
      EventReader.open(client),
      EventReader.open(service.as(other.key)),
    ]);
    const polling = client.get('/events?wait=50');
    await service.keys.setKeyState(key.id, 'deactivated');
    await first.end();
    const { status, body } = await polling;
    expect([status, body.code]).toEqual([403, 'key_deactivated']);
    expect(second.ended).toBe(false);
    await service.keys.setWorkspaceState(service.workspaceId(label), 'deactivated');
    await second.end();
    expect((await service.as(other.key).get('/events')).body.code).toBe('workspace_deactivated');
  });
});
