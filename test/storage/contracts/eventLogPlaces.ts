import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Position } from '../../../src/domain/events/event.ts';
import type { EventLog } from '../../../src/storage/eventLog.ts';

import { followToEnd } from '../../support/log.ts';
import { TestWorkspace } from '../../support/samples.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Far beyond the end of any log. */
const BEYOND = 2 ** 52;

/** Which log it is, and which positions it has. */
export function eventLogPlaces(open: () => Promise<EventLog>): void {
  const workspace = new TestWorkspace();
  let log: EventLog;
  beforeAll(async () => {
    log = await open();
  });
  afterAll(() => log.close());

  test('its identity is one and the same for all who open it, at whatever moment', async () => {
    const others = await Promise.all(Array.from({ length: 5 }, open));
    try {
      const asked = [log, ...others, ...others].map((one) => one.identity());
      const identities = await Promise.all(asked);
      expect(identities[0]).toMatch(UUID);
      expect(new Set(identities).size).toBe(1);
      await workspace.append(log, workspace.stream());
      expect(await log.identity()).toBe(identities[0]);
    } finally {
      await Promise.all(others.map((other) => other.close()));
    }
    expect(await log.identity()).toMatch(UUID);
  });

  test('no follower is given its identity as an event', async () => {
    const identity = await log.identity();
    const batches = await followToEnd(log, { after: 0 });
    const events = batches.flatMap((batch) => batch.events);
    expect(events.every(({ metadata }) => typeof metadata.workspace === 'string')).toBe(true);
    expect(JSON.stringify(events)).not.toContain(identity);
    expect(batches.flatMap(({ unreadable = [] }) => unreadable)).toEqual([]);
  });

  test('it has the beginning, the position of each event, of each batch and of its head', async () => {
    const places = await workspace.appendMany(log, 30);
    const batches = await followToEnd(log, { after: 0, filter: { streamPrefixes: [workspace.prefix] } });
    const positions = [
      0,
      await log.head(),
      ...places.map(({ position }) => position),
      ...batches.map(({ position }) => position),
    ];
    const known = await Promise.all(positions.map((position) => log.hasPosition(position)));
    expect(known).toEqual(positions.map(() => true));
  });

  test('it does not have what lies beyond its end', async () => {
    const { position } = await workspace.append(log, workspace.stream());
    expect(await log.hasPosition(position)).toBe(true);
    expect(await log.hasPosition(BEYOND)).toBe(false);
    expect(await log.hasPosition(Number.MAX_SAFE_INTEGER)).toBe(false);
  });

  test('of a position beyond its end it tells the last one that it has, and of its own ones nothing', async () => {
    const { position } = await workspace.append(log, workspace.stream());
    const head = await log.head();
    expect(await log.lastBefore(BEYOND)).toBeGreaterThanOrEqual(head);
    expect(await log.lastBefore(BEYOND)).toBeLessThan(BEYOND);
    for (const one of [0, position, head]) expect(await log.lastBefore(one)).toBeUndefined();
  });

  test('it may have events of a type behind a position where one is, whatever others are', async () => {
    const { position } = await workspace.append(log, workspace.stream());
    const { type } = workspace.event();
    await workspace.append(log, workspace.stream());
    expect(await log.mayHaveBehind(position, ['MadeUp', type])).toBe(true);
    expect(await log.mayHaveBehind(0, [type])).toBe(true);
  });

  const follow = async (after: Position) => {
    const signal = AbortSignal.timeout(20_000);
    for await (const batch of log.follow({ after, signal })) return batch;
    return undefined;
  };

  test('nobody can follow it from beyond its end', async () => {
    await workspace.append(log, workspace.stream());
    await expect(follow(BEYOND)).rejects.toMatchObject({ code: 'validation_failed' });
  });

  test('nobody can follow it from between two events', async () => {
    const places = await workspace.appendMany(log, 5);
    for (const { position } of places) {
      const between = position - 1;
      if (await log.hasPosition(between)) continue;
      await expect(follow(between)).rejects.toMatchObject({ code: 'validation_failed' });
    }
  });
}
