import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { RecordedEvent } from '../../../src/domain/events/event.ts';
import { workspaceOfStream } from '../../../src/domain/events/streams.ts';
import type { EventBatch, EventLog } from '../../../src/storage/eventLog.ts';

import { eventually } from '../../support/eventually.ts';
import { Follower, followToEnd } from '../../support/log.ts';
import { TestWorkspace } from '../../support/samples.ts';

const eventsOf = (batches: EventBatch[]) => batches.flatMap(({ events }) => events);
const numbers = (events: RecordedEvent[]) => events.map(({ data }) => data.n);
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);

/** Events appended in a rush: more than a backend remembers for its followers. */
const RUSH = 4_800;

export function eventLogFollowing(open: () => Promise<EventLog>): void {
  let workspace: TestWorkspace;
  let log: EventLog;
  beforeAll(async () => {
    log = await open();
  });
  afterAll(() => log.close());
  beforeEach(() => {
    workspace = new TestWorkspace();
  });

  /** Appends one after the other: `{n: 0}`, `{n: 1}` … by turns to some streams. */
  const appendInOrder = async (count: number, streams = [workspace.stream(), workspace.stream()]) => {
    const places = [];
    for (let n = 0; n < count; n += 1) {
      places.push(await workspace.append(log, streams[n % streams.length] as string, { n }));
    }
    return places;
  };
  const own = () => ({ streamPrefixes: [workspace.prefix] });
  const mine = (events: RecordedEvent[]) =>
    events.filter(({ metadata }) => metadata.workspace === workspace.id);

  test('from 0 it delivers everything wanted in order, at the places that append answered', async () => {
    const streams = [workspace.stream(), workspace.stream()];
    const places = await appendInOrder(30, streams);
    const events = eventsOf(await followToEnd(log, { after: 0, filter: own() }));
    expect(numbers(events)).toEqual(upTo(30));
    expect(events.map(({ revision, position }) => ({ revision, position }))).toEqual(places);
    const read = await Promise.all(streams.map((stream) => log.readStream(stream, { limit: 100 })));
    expect(events).toEqual(read.flat().sort((a, b) => a.position - b.position));
  });

  test('without a filter it delivers the events of all streams', async () => {
    const before = await log.head();
    await appendInOrder(
      20,
      [workspace.stream(), 'all', workspace.stream()].map((name) => workspace.stream(name)),
    );
    expect(numbers(mine(eventsOf(await followToEnd(log, { after: before }))))).toEqual(upTo(20));
  });

  test('after a position it delivers what lies beyond it, whatever is there', async () => {
    const places = await appendInOrder(10);
    const other = new TestWorkspace();
    await other.append(log, other.stream());
    for (const n of [0, 4, 8, 9]) {
      const after = places[n]?.position ?? 0;
      const events = eventsOf(await followToEnd(log, { after, filter: own() }));
      expect(numbers(events)).toEqual(upTo(10).slice(n + 1));
    }
  });

  test('who begins while much is appended, wherever it begins, misses nothing', async () => {
    const streams = Array.from({ length: 32 }, () => workspace.stream());
    const places: number[] = [];
    const followers: { after: number; follower: Follower }[] = [];
    const chain = async (stream: string) => {
      for (let n = 0; n < RUSH / streams.length; n += 1) {
        places.push((await workspace.append(log, stream, { n })).position);
        if (places.length % 160 > 0) continue;
        // Among what a backend remembers for its followers, and beyond it.
        const after = places[Math.max(0, places.length - 300 * (followers.length % 8))] ?? 0;
        followers.push({ after, follower: new Follower(log, { after, filter: own() }) });
      }
    };
    await Promise.all(streams.map(chain));
    const end = Math.max(...places);
    for (const { after, follower } of followers) {
      await eventually(() => expect(follower.position).toBeGreaterThanOrEqual(end));
      await follower.stop();
      const expected = places.filter((position) => position > after).sort((a, b) => a - b);
      expect(follower.events.map(({ position }) => position)).toEqual(expected);
    }
  });

  test('stream prefixes are matched to the letter', async () => {
    const { id } = workspace;
    const streams = [
      `${id}_.a`,
      `${id}_.b`,
      `${id}_`,
      `${id}x.a`,
      `${id}%.a`,
      `${id.toUpperCase()}_.a`,
      `${id}😀.a`,
    ];
    for (const stream of streams) {
      const owner = stream.includes('.') ? workspaceOfStream(stream) : id;
      await log.append(stream, new TestWorkspace(owner).event({ stream }), 'none');
    }
    const delivered = async (...streamPrefixes: string[]) =>
      eventsOf(await followToEnd(log, { after: 0, filter: { streamPrefixes } })).map(({ stream }) => stream);
    expect(await delivered(`${id}_.`)).toEqual([`${id}_.a`, `${id}_.b`]);
    expect(await delivered(`${id}%`)).toEqual([`${id}%.a`]);
    expect(await delivered(`${id}😀.`)).toEqual([`${id}😀.a`]);
    expect(await delivered(`${id}x`, `${id}_.b`)).toEqual([`${id}_.b`, `${id}x.a`]);
    expect(await delivered()).toEqual([]);
  });

  test('event types are matched whole', async () => {
    const type = `Type-${workspace.id}`;
    const types = [type, `${type}d`, `${type}-d`, type.toLowerCase(), type.slice(0, -1)];
    for (const one of types) await log.append(workspace.stream(), workspace.event({}, one), 'none');
    const delivered = async (...eventTypes: string[]) =>
      eventsOf(await followToEnd(log, { after: 0, filter: { eventTypes } })).map((event) => event.type);
    expect(await delivered(type)).toEqual([type]);
    expect(await delivered(`${type}-d`, type)).toEqual([type, `${type}-d`]);
    expect(await delivered()).toEqual([]);
  });

  test('live events come in order, to a follower with a filter and to one without', async () => {
    const after = await log.head();
    const followers = [new Follower(log, { after, filter: own() }), new Follower(log, { after })];
    await eventually(() => expect(followers.every(({ caughtUp }) => caughtUp)).toBe(true));
    await appendInOrder(20);
    await workspace.appendMany(log, 100);
    for (const follower of followers) {
      await eventually(() => expect(mine(follower.events)).toHaveLength(120));
      expect(numbers(mine(follower.events)).slice(0, 20)).toEqual(upTo(20));
      const positions = follower.events.map(({ position }) => position);
      expect(positions).toEqual([...new Set(positions)].sort((a, b) => a - b));
      await follower.stop();
    }
    expect(mine(followers[0]?.events ?? [])).toEqual(mine(followers[1]?.events ?? []));
  });

  test('batch positions rise, cover their events and reach the head', async () => {
    const after = await log.head();
    await workspace.appendMany(log, 1_200);
    const head = await log.head();
    const batches = await followToEnd(log, { after, filter: own() });
    expect(eventsOf(batches)).toHaveLength(1_200);
    let position = after;
    for (const batch of batches) {
      expect(batch.position).toBeGreaterThanOrEqual(position);
      for (const event of batch.events) {
        expect(event.position).toBeGreaterThan(position);
        position = event.position;
      }
      expect(batch.position).toBeGreaterThanOrEqual(position);
      position = batch.position;
    }
    expect(position).toBeGreaterThanOrEqual(head);
  });

  test('when nothing is wanted it says once that it has caught up, with an empty batch', async () => {
    const after = await log.head();
    const [batch] = await followToEnd(log, { after, filter: own() });
    expect(batch).toMatchObject({ events: [], caughtUp: true });
    expect(batch?.position).toBeGreaterThanOrEqual(after);
  });

  test('unwanted events move the position up to the head', async () => {
    const follower = new Follower(log, { after: await log.head(), filter: own() });
    const other = new TestWorkspace();
    for (let n = 0; n < 5; n += 1) {
      await other.append(log, other.stream());
      const head = await log.head();
      await eventually(() => expect(follower.position).toBeGreaterThanOrEqual(head));
    }
    await workspace.append(log, workspace.stream(), { n: 0 });
    await eventually(() => expect(numbers(follower.events)).toEqual([0]));
    await follower.stop();
  });

  test('the first caught up covers what was acknowledged before, while others follow too', async () => {
    const others = [1, 2, 3].map(() => new Follower(log, { after: 0, filter: own() }));
    for (let n = 0; n < 30; n += 1) {
      const after = await log.head();
      await workspace.append(log, workspace.stream(), { n });
      expect(numbers(eventsOf(await followToEnd(log, { after, filter: own() })))).toEqual([n]);
    }
    await Promise.all(others.map((follower) => follower.stop()));
  });

  test('a slow follower gets everything, once and in order', async () => {
    const { promise: appended, resolve: go } = Promise.withResolvers<void>();
    const after = await log.head();
    const follower = new Follower(log, { after, filter: own() }, () => appended);
    const stream = workspace.stream();
    await workspace.appendMany(log, 5_000, [stream]);
    go();
    await eventually(() => expect(follower.events).toHaveLength(5_000));
    expect(follower.events.map(({ revision }) => revision)).toEqual(upTo(5_000));
    await workspace.append(log, stream);
    await eventually(() => expect(follower.events.at(-1)?.revision).toBe(5_000));
    await follower.stop();
  });

  test('a signal ends it without an error: before it began, while it waits and between batches', async () => {
    await workspace.appendMany(log, 2_400);
    const before = log.follow({ after: 0, signal: AbortSignal.abort() });
    for await (const batch of before) expect(batch).toBeUndefined();

    const waiting = new Follower(log, { after: await log.head(), filter: own() });
    await eventually(() => expect(waiting.caughtUp).toBe(true));
    await waiting.stop();

    const abort = new AbortController();
    const batches: EventBatch[] = [];
    for await (const batch of log.follow({ after: 0, filter: own(), signal: abort.signal })) {
      batches.push(batch);
      if (batch.events.length > 0) abort.abort();
    }
    expect(eventsOf(batches).length).toBeGreaterThan(0);
    expect(eventsOf(batches).length).toBeLessThan(2_400);
  });

  test('two followers do not disturb each other', async () => {
    const after = await log.head();
    const type = `Even-${workspace.id}`;
    const all = new Follower(log, { after, filter: own() });
    const even = new Follower(log, { after, filter: { eventTypes: [type] } });
    const streams = [workspace.stream(), workspace.stream(), workspace.stream()];
    for (let n = 0; n < 60; n += 1) {
      const event = n % 2 ? workspace.event({ n }) : workspace.event({ n }, type);
      await log.append(streams[n % 3] as string, event, 'any');
      if (n === 30) await all.stop();
    }
    await eventually(() => expect(numbers(even.events)).toEqual(upTo(60).filter((n) => n % 2 === 0)));
    expect(numbers(all.events)).toEqual(upTo(all.events.length));
    await even.stop();
  });

  test('who resumes after the position of any batch loses and repeats nothing', async () => {
    let position = await log.head();
    const other = new TestWorkspace();
    const appending = (async () => {
      for (let n = 0; n < 300; n += 1) {
        await workspace.append(log, workspace.stream(), { n });
        if (n % 3 === 0) await other.append(log, other.stream());
      }
    })();
    const seen: RecordedEvent[] = [];
    const resume = async () => {
      let batchesLeft = 1 + (seen.length % 4);
      const options = { after: position, filter: own(), signal: new AbortController().signal };
      for await (const batch of log.follow(options)) {
        seen.push(...batch.events);
        position = batch.position;
        batchesLeft -= 1;
        if (batchesLeft === 0 || seen.length >= 300) break;
      }
    };
    const resumeToEnd = async () => {
      while (seen.length < 300) await resume();
    };
    await Promise.all([appending, resumeToEnd()]);
    expect(numbers(seen)).toEqual(upTo(300));
  });

  test('a follower sees what another connection appends', async () => {
    const other = await open();
    try {
      const follower = new Follower(log, { after: await log.head(), filter: own() });
      await workspace.appendMany(other, 50);
      await eventually(() => expect(follower.events).toHaveLength(50));
      await follower.stop();
    } finally {
      await other.close();
    }
  });

  test('closing the log ends its followers without an error', async () => {
    const other = await open();
    const followers = [new Follower(other, { after: 0 }), new Follower(other, { after: await other.head() })];
    await eventually(() => expect(followers.every(({ batches }) => batches.length > 0)).toBe(true));
    await other.close();
    await Promise.all(followers.map(({ ended }) => ended));
    expect((await workspace.append(log, workspace.stream())).revision).toBe(0);
  });
}
