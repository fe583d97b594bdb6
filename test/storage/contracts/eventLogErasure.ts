import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { ErasedEvent, Position, RecordedEvent } from '../../../src/domain/events/event.ts';
import { RECORD_ERASED } from '../../../src/domain/events/payloads.ts';
import type { EventBatch, EventLog, FollowOptions } from '../../../src/storage/eventLog.ts';

import { appendTombstones, erase, type Removal } from '../../support/erasure.ts';
import { eventually } from '../../support/eventually.ts';
import { Follower, followToEnd } from '../../support/log.ts';
import { TestWorkspace } from '../../support/samples.ts';

/** Resolves when the bytes of removed events are out of the log's files. */
export type Purged = (log: EventLog, erased: ErasedEvent[]) => Promise<unknown>;

const eventsOf = (batches: EventBatch[]) => batches.flatMap(({ events }) => events);
const erasedOf = (batches: EventBatch[]) => batches.flatMap(({ erased = [] }) => erased);
const timeOf = (event: RecordedEvent | undefined) => Date.parse(event?.recordedAt ?? '');
/** The places that batches tell of, in their order within each batch's range: `+` of events, `-` of erased ones. */
const placesOf = (batches: EventBatch[]) =>
  batches.flatMap(({ events, erased = [] }) =>
    [
      ...events.map(({ position }) => ({ position, place: `+${position}` })),
      ...erased.map(({ position }) => ({ position, place: `-${position}` })),
    ]
      .sort((a, b) => a.position - b.position)
      .map(({ place }) => place),
  );

export function eventLogErasure(open: () => Promise<EventLog>, purged: Purged): void {
  let workspace: TestWorkspace;
  let log: EventLog;
  beforeAll(async () => {
    log = await open();
  });
  afterAll(() => log.close());
  beforeEach(() => {
    workspace = new TestWorkspace();
  });

  const own = () => ({ streamPrefixes: [workspace.prefix] });
  const followed = (options: Partial<FollowOptions> = {}) =>
    followToEnd(log, { after: 0, filter: own(), ...options });
  const followedAll = (after: Position, erased: boolean) => followToEnd(log, { after, erased });
  /** Five events each in two streams by turns, then one more in each. */
  const twoStreams = async () => {
    const streams = [workspace.stream(), workspace.stream()] as [string, string];
    for (let n = 0; n < 10; n += 1) await workspace.append(log, streams[n % 2] as string, { n });
    return streams;
  };

  /** What holds from the removal on, and after the purge as well. */
  const states: [string, Purged][] = [
    ['removed', async () => undefined],
    ['purged', (...args) => purged(...args)],
  ];
  describeStates(states, (state, reach) => {
    test(`streams of which events were ${state} are told in the order of the removals`, async () => {
      const [first, second] = await twoStreams();
      const { streams, place } = await log.removals();
      expect(streams).toEqual([]);
      await reach(log, await erase(log, workspace, second));
      const later = await log.removals(place);
      expect(later.streams).toEqual([second]);
      await reach(log, await erase(log, workspace, first));
      expect((await log.removals(later.place)).streams).toEqual([first]);
      expect((await log.removals(place)).streams).toEqual([second, first]);
      expect((await log.removals(0)).streams).toEqual(expect.arrayContaining([second, first]));
    });

    test(`an append tells that events of its stream were ${state}`, async () => {
      const [gone, stays] = await twoStreams();
      await reach(log, await erase(log, workspace, gone));
      expect(await workspace.append(log, gone, {})).toMatchObject({ erased: true });
      expect(await workspace.append(log, stays, {})).not.toHaveProperty('erased');
      const another = await open();
      expect(await workspace.append(another, gone, {})).toMatchObject({ erased: true });
      await another.close();
    });

    test(`no read and no follower gives events that were ${state}`, async () => {
      const start = await log.head();
      const [gone, stays] = await twoStreams();
      const head = await log.head();
      await reach(log, await erase(log, workspace, gone));
      await workspace.append(log, gone, { n: 'later' });

      const types = [RECORD_ERASED, workspace.event().type];
      const left = await log.readStream(gone, { limit: 100 });
      expect(left.map(({ type, revision }) => [type, revision])).toEqual(
        types.map((type, n) => [type, 5 + n]),
      );
      expect(await log.readStream(gone, { from: 2, limit: 1 })).toEqual(left.slice(0, 1));
      expect(await log.readStream(gone, { direction: 'backwards', limit: 100 })).toEqual([...left].reverse());
      expect(await log.readStream(gone, { direction: 'backwards', from: 4, limit: 100 })).toEqual([]);
      expect(await log.readStream(stays, { limit: 100 })).toHaveLength(5);

      const kept = [...(await log.readStream(stays, { limit: 100 })), ...left];
      const batches = await Promise.all([
        followed(),
        followed({ filter: { streamPrefixes: [gone, stays] } }),
        followed({ filter: { eventTypes: types } }),
        followedAll(start, false),
      ]);
      for (const one of batches) {
        const mine = eventsOf(one).filter(({ metadata }) => metadata.workspace === workspace.id);
        expect(mine).toEqual(kept);
        expect(erasedOf(one)).toEqual([]);
      }
      expect(await log.head()).toBeGreaterThan(head);
      expect(Date.parse((await log.lastRecordedAt()) ?? '')).toBeGreaterThanOrEqual(timeOf(left.at(-1)));
    });

    test(`a follower that asks is told the places of what was ${state}, each once and in log order`, async () => {
      const start = await log.head();
      const [gone, stays] = await twoStreams();
      const before = placesOf(await followed());
      const erased = await erase(log, workspace, gone);
      await reach(log, erased);
      const batches = await followed({ erased: true });
      expect(erasedOf(batches)).toEqual(erased);
      const isGone = (place: string) => erased.some(({ position }) => place === `+${position}`);
      const places = before.map((place) => (isGone(place) ? place.replace('+', '-') : place));
      expect(placesOf(batches).slice(0, -1)).toEqual(places);
      expect(erasedOf(await followed({ erased: true, filter: { streamPrefixes: [gone] } }))).toEqual(erased);
      expect(erasedOf(await followed({ erased: true, filter: { streamPrefixes: [stays] } }))).toEqual([]);
      expect(erasedOf(await followedAll(start, true)).filter(({ stream }) => stream === gone)).toEqual(
        erased,
      );
    });

    test(`what was ${state} is a place to follow from, and nothing is passed over`, async () => {
      const [gone] = await twoStreams();
      const all = placesOf(await followed());
      const erased = await erase(log, workspace, gone);
      await reach(log, erased);
      const left = placesOf(await followed({ erased: true }));
      for (const { position } of erased) {
        expect(await log.hasPosition(position)).toBe(true);
        const at = all.indexOf(`+${position}`);
        expect(placesOf(await followed({ after: position, erased: true }))).toEqual(left.slice(at + 1));
        expect(eventsOf(await followed({ after: position })).map((event) => `+${event.position}`)).toEqual(
          left.slice(at + 1).filter((place) => place.startsWith('+')),
        );
      }
    });

    test(`a stream of which events were ${state} goes on counting`, async () => {
      const stream = workspace.stream();
      const first = workspace.event({ n: 0 });
      const place = await log.append(stream, first, 'none');
      await workspace.append(log, stream, { n: 1 }, 0);
      await reach(log, await erase(log, workspace, stream));
      await expect(workspace.append(log, stream, {}, 'none')).rejects.toMatchObject({
        code: 'version_conflict',
        message: 'The record is at version 3.',
      });
      await expect(workspace.append(log, stream, {}, 0)).rejects.toMatchObject({ code: 'version_conflict' });
      expect((await workspace.append(log, stream, { n: 3 }, 2)).revision).toBe(3);
      // A repeat that comes late is its original, and brings nothing back.
      for (const expected of ['none', 'any'] as const)
        expect(await log.append(stream, first, expected)).toEqual({ ...place, erased: true });
      expect((await log.readStream(stream, { limit: 10 })).map(({ revision }) => revision)).toEqual([2, 3]);
    });

    test(`what was ${state} may be removed again, which changes nothing`, async () => {
      const [gone] = await twoStreams();
      const removal = await appendTombstones(log, workspace, gone);
      await log.erase(...removal);
      await reach(log, removal[2]);
      const [events, erased] = [await followed(), await followed({ erased: true })].map(placesOf);
      await Promise.all([log.erase(...removal), log.erase(...removal)]);
      expect([await followed(), await followed({ erased: true })].map(placesOf)).toEqual([events, erased]);
    });

    test(`what was ${state} is told also when the tombstone itself is erased`, async () => {
      const [gone] = await twoStreams();
      const first = await appendTombstones(log, workspace, gone, 2);
      await log.erase(...first);
      await reach(log, first[2]);
      await workspace.append(log, gone, { n: 'again' });
      const erased = await erase(log, workspace, gone);
      expect(erased.slice(0, 5)).toEqual(first[2]);
      expect(erased).toHaveLength(8);
      await reach(log, erased);
      expect(erasedOf(await followed({ erased: true }))).toEqual(erased);
      // A repeat of the first removal, by somebody who was away meanwhile.
      await log.erase(...first);
      expect(erasedOf(await followed({ erased: true }))).toEqual(erased);
      expect((await log.readStream(gone, { limit: 10 })).map(({ revision }) => revision)).toEqual([8]);
    });
  });

  test('a stream must go on behind what is removed', async () => {
    const stream = workspace.stream();
    await workspace.appendMany(log, 3, [stream]);
    const events = await log.readStream(stream, { limit: 10 });
    const erased = events.map(({ id, revision, position }) => ({
      id,
      stream,
      revision,
      position,
      leaf: 'x',
    }));
    // Where reads may show what goes on late, that is the cause of a refusal that asks to come back.
    const says = (error: Error) => String(error.cause ?? error).includes('does not go on');
    await expect(log.erase(stream, 3, erased)).rejects.toSatisfy(says);
    await expect(log.erase(workspace.stream(), 0, [])).rejects.toSatisfy(says);
    expect(await log.readStream(stream, { limit: 10 })).toEqual(events);
    expect(eventsOf(await followed())).toEqual(events);
  });

  test('of removals that are asked for together, one that is refused affects no other', async () => {
    const streams = Array.from({ length: 5 }, () => workspace.stream());
    await workspace.appendMany(log, 10, streams);
    const removals: Removal[] = [];
    for (const stream of streams) removals.push(await appendTombstones(log, workspace, stream));
    const [kept] = (await log.readStream(streams[2] as string, { limit: 1 })) as [RecordedEvent];
    const outcomes = await Promise.allSettled(
      removals.map(([stream, before, erased], index) =>
        log.erase(stream, before, index === 2 ? erased.slice(1) : erased),
      ),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(
      streams.map((_, index) => (index === 2 ? 'rejected' : 'fulfilled')),
    );
    for (const [index, stream] of streams.entries()) {
      const [first] = await log.readStream(stream, { limit: 1 });
      if (index === 2) expect(first).toEqual(kept);
      else expect(first?.revision).toBe(2);
    }
  });

  test('a removal that does not name every event is refused, and removes none', async () => {
    const stream = workspace.stream();
    await workspace.appendMany(log, 3, [stream]);
    const [, before, erased] = await appendTombstones(log, workspace, stream);
    const events = await log.readStream(stream, { limit: 10 });
    await expect(log.erase(stream, before, erased.slice(1))).rejects.toThrow('not among those named');
    expect(await log.readStream(stream, { limit: 10 })).toEqual(events);
    expect(eventsOf(await followed())).toEqual(events);
  });

  test('followers that are there already go on, and are told nothing twice', async () => {
    const [gone, stays] = await twoStreams();
    const followers = [false, true].map(
      (asks) => new Follower(log, { after: 0, filter: own(), erased: asks }),
    );
    await eventually(() => expect(followers.every(({ events }) => events.length === 10)).toBe(true));
    await erase(log, workspace, gone);
    await workspace.append(log, stays, { n: 'last' });
    for (const follower of followers) {
      await eventually(() => expect(follower.events.at(-1)?.data).toEqual({ n: 'last' }));
      await follower.stop();
      expect(follower.events).toHaveLength(12);
      expect(erasedOf(follower.batches)).toEqual([]);
    }
  });

  test('more than a batch is told in batches, each of its own range', async () => {
    const [gone, stays] = [workspace.stream(), workspace.stream()];
    await workspace.appendMany(log, 2_600, [gone, stays]);
    const erased = await erase(log, workspace, gone, 3);
    const batches = await followed({ erased: true });
    expect(erasedOf(batches)).toEqual(erased);
    expect(eventsOf(batches)).toHaveLength(1_303);
    let after = 0;
    for (const batch of batches) {
      for (const { position } of [...batch.events, ...(batch.erased ?? [])]) {
        expect(position).toBeGreaterThan(after);
        expect(position).toBeLessThanOrEqual(batch.position);
      }
      after = batch.position;
    }
  });

  test('whoever follows while streams are erased is given each place once: the event, or that it is gone', async () => {
    const streams = Array.from({ length: 40 }, () => workspace.stream());
    await workspace.appendMany(log, 800, streams);
    const places = new Set(
      (await followed()).flatMap(({ events }) => events.map(({ position }) => position)),
    );
    let done = false;
    const erasing = (async () => {
      for (const stream of streams) await erase(log, workspace, stream);
      done = true;
    })();
    const tellings: string[][] = [];
    const follow = async () => tellings.push(placesOf(await followed({ erased: true })));
    while (!done) await follow();
    await Promise.all([erasing, follow()]);
    for (const telling of tellings) {
      const told = telling.map((place) => Math.abs(Number(place)));
      expect(told).toEqual([...told].sort((a, b) => a - b));
      expect(new Set(told.filter((place) => places.has(place)))).toEqual(places);
      expect(new Set(told).size).toBe(told.length);
    }
    expect(tellings.at(-1)?.filter((place) => place.startsWith('-'))).toHaveLength(800);
  });
}

function describeStates(states: [string, Purged][], tests: (state: string, reach: Purged) => void): void {
  for (const [state, reach] of states) tests(state, reach);
}
