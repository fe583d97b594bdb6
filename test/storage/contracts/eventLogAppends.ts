import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MAX_EVENT_BYTES } from '../../../src/domain/events/event.ts';
import { ServiceError } from '../../../src/platform/errors.ts';
import type { EventLog, ExpectedRevision } from '../../../src/storage/eventLog.ts';

import { followToEnd } from '../../support/log.ts';
import { TestWorkspace } from '../../support/samples.ts';

export function eventLogAppends(open: () => Promise<EventLog>): void {
  const workspace = new TestWorkspace();
  let log: EventLog;
  beforeAll(async () => {
    log = await open();
  });
  afterAll(() => log.close());

  const stored = (stream: string) => log.readStream(stream, { limit: 1_000 });

  test('revisions count from 0 in each stream and positions rise through the log', async () => {
    const [first, second] = [workspace.stream(), workspace.stream()];
    const places = [];
    for (const stream of [first, second, first, first, second]) {
      places.push(await workspace.append(log, stream));
    }
    expect(places.map(({ revision }) => revision)).toEqual([0, 0, 1, 2, 1]);
    const positions = places.map(({ position }) => position);
    expect(positions).toEqual([...new Set(positions)].sort((a, b) => a - b));
    expect(positions.every((position) => Number.isSafeInteger(position) && position > 0)).toBe(true);
  });

  test('an expectation that holds lets the event in', async () => {
    const stream = workspace.stream();
    expect((await workspace.append(log, stream, {}, 'none')).revision).toBe(0);
    expect((await workspace.append(log, stream, {}, 0)).revision).toBe(1);
    expect((await workspace.append(log, stream, {}, 1)).revision).toBe(2);
    expect((await workspace.append(log, stream, {}, 'any')).revision).toBe(3);
  });

  const mismatches: [ExpectedRevision, number][] = [
    ['none', 1],
    ['none', 3],
    [0, 0],
    [7, 0],
    [0, 3],
    [1, 3],
    [3, 3],
    [1_000_000, 3],
  ];
  test.each(mismatches)(
    'expecting %p of a stream of %p events is refused and writes nothing',
    async (expected, count) => {
      const stream = workspace.stream();
      for (let n = 0; n < count; n += 1) await workspace.append(log, stream, { n });
      const before = await log.head();
      await expect(workspace.append(log, stream, { refused: true }, expected)).rejects.toMatchObject({
        code: 'version_conflict',
        message: count === 0 ? 'The record does not exist.' : `The record is at version ${count}.`,
      });
      expect((await stored(stream)).map(({ data }) => data)).toEqual(
        Array.from({ length: count }, (_, n) => ({ n })),
      );
      const batches = await followToEnd(log, { after: before, filter: { streamPrefixes: [stream] } });
      expect(batches.flatMap(({ events }) => events)).toEqual([]);
    },
  );

  test('a repeat of an event changes nothing and answers with the original place', async () => {
    const stream = workspace.stream();
    const first = workspace.event({ n: 0 });
    const second = workspace.event({ n: 1 });
    const third = workspace.event({ n: 2 });
    const places = [
      await log.append(stream, first, 'none'),
      await log.append(stream, second, 0),
      await log.append(stream, third, 'any'),
    ];
    const before = await stored(stream);
    expect(await log.append(stream, first, 'none')).toEqual(places[0]);
    expect(await log.append(stream, first, 'any')).toEqual(places[0]);
    expect(await log.append(stream, second, 0)).toEqual(places[1]);
    expect(await log.append(stream, second, 'any')).toEqual(places[1]);
    expect(await log.append(stream, third, 'any')).toEqual(places[2]);
    expect(await log.append(stream, { ...first, type: 'Changed', data: { changed: true } }, 'any')).toEqual(
      places[0],
    );
    expect(await stored(stream)).toEqual(before);
  });

  test('a repeat with another expectation than its own is judged like any append', async () => {
    const stream = workspace.stream();
    await workspace.append(log, stream);
    const event = workspace.event();
    await log.append(stream, event, 0);
    await workspace.append(log, stream);
    await expect(log.append(stream, event, 'none')).rejects.toMatchObject({ code: 'version_conflict' });
    await expect(log.append(stream, event, 5)).rejects.toMatchObject({ code: 'version_conflict' });
    expect(await stored(stream)).toHaveLength(3);
  });

  test('a repeat that is marked as one is the original, whatever it expects', async () => {
    const stream = workspace.stream();
    await workspace.append(log, stream);
    const event = workspace.event();
    const place = await log.append(stream, event, 0);
    const repeat = { ...event, isRepeat: true as const };
    for (const expected of ['none', 0, 1, 'any'] as const)
      expect(await log.append(stream, repeat, expected)).toEqual(place);
    await workspace.append(log, stream);
    expect(await log.append(stream, repeat, 2)).toEqual(place);
    expect(await stored(stream)).toHaveLength(3);
  });

  test('many repeats at once write one event', async () => {
    const stream = workspace.stream();
    const event = workspace.event();
    const places = await Promise.all(Array.from({ length: 20 }, () => log.append(stream, event, 'any')));
    expect(new Set(places.map(({ position }) => position)).size).toBe(1);
    expect(await stored(stream)).toHaveLength(1);
  });

  test('an event of another workspace than its stream is refused, and nothing is written', async () => {
    const stream = workspace.stream();
    const refused = { code: 'validation_failed' };
    for (const [name, owner] of [
      [stream, 'other_one'],
      [stream, '*'],
      [stream, stream.slice(0, -1)],
      ['users', workspace.id],
      ['access', '*'],
    ] as const) {
      const event = new TestWorkspace(owner).event();
      await expect(log.append(name, event, 'any')).rejects.toMatchObject(refused);
      expect(await log.appendEach([{ stream: name, event, expected: 'any' }])).toMatchObject([refused]);
    }
    expect(await log.readStream(stream, { limit: 1 })).toEqual([]);
  });

  test('the same id in another stream is another event', async () => {
    const [one, other] = [workspace.stream(), workspace.stream()];
    const event = workspace.event({ n: 1 });
    const first = await log.append(one, event, 'none');
    const second = await log.append(other, { ...event, data: { n: 2 } }, 'none');
    expect(second.position).toBeGreaterThan(first.position);
    expect((await stored(other)).map(({ id, data }) => ({ id, data }))).toEqual([
      { id: event.id, data: { n: 2 } },
    ]);
  });

  test('appends to one stream at once all get places of their own', async () => {
    const stream = workspace.stream();
    const places = await workspace.appendMany(log, 200, [stream]);
    const revisions = places.map(({ revision }) => revision).sort((a, b) => a - b);
    expect(revisions).toEqual(Array.from({ length: 200 }, (_, n) => n));
    const events = await stored(stream);
    for (const [n, place] of places.entries()) {
      expect(events[place.revision]).toMatchObject({ ...place, data: { n } });
    }
  });

  test('of appends at once with the same expectation exactly one wins', async () => {
    const stream = workspace.stream();
    await workspace.append(log, stream);
    for (const expected of [0, 1, 2]) {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 20 }, (_, n) => workspace.append(log, stream, { n }, expected)),
      );
      const won = outcomes.filter(({ status }) => status === 'fulfilled');
      expect(won).toMatchObject([{ value: { revision: expected + 1 } }]);
      const lost = outcomes.filter((outcome) => outcome.status === 'rejected');
      for (const { reason } of lost) expect(reason).toMatchObject({ code: 'version_conflict' });
      expect(reasonsAreErrors(lost)).toBe(true);
    }
    expect(await stored(stream)).toHaveLength(4);
  });

  test('an event of up to 1 MiB is kept whole; a larger one is refused and its neighbours are not hurt', async () => {
    const stream = workspace.stream();
    const overhead = JSON.stringify(workspace.event({ text: '' })).length;
    const text = 'ä'.repeat((MAX_EVENT_BYTES - overhead - 1_024) / 2);
    const large = await workspace.append(log, stream, { text });
    expect((await log.readStream(stream, { limit: 1 }))[0]?.data).toEqual({ text });
    const neighbours = workspace.stream();
    const [before, refused, inMetadata, after] = await Promise.allSettled([
      workspace.appendMany(log, 20, [neighbours]),
      workspace.append(log, stream, { text: 'x'.repeat(MAX_EVENT_BYTES) }),
      log.append(stream, withUserAgent(workspace, 'x'.repeat(MAX_EVENT_BYTES)), 'any'),
      workspace.appendMany(log, 20, [neighbours]),
    ]);
    expect([before.status, after.status]).toEqual(['fulfilled', 'fulfilled']);
    for (const outcome of [refused, inMetadata]) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'payload_too_large' } });
    }
    expect(await stored(neighbours)).toHaveLength(40);
    expect((await workspace.append(log, stream)).revision).toBe(large.revision + 1);
  });

  test('a check tells that it takes appends, and adds no event', async () => {
    const fresh = await open();
    try {
      const head = await log.head();
      await Promise.all([fresh.check(), fresh.check(), log.check()]);
      await workspace.append(fresh, workspace.stream());
      const [batch] = await followToEnd(log, { after: head, filter: { streamPrefixes: [workspace.prefix] } });
      expect(batch?.events).toHaveLength(1);
      await fresh.check();
    } finally {
      await fresh.close();
    }
  });

  test.each(['', 'no-uuid', `${uuidv7()}0`])('an event id that is no UUID (%p) is refused', async (id) => {
    const stream = workspace.stream();
    await expect(log.append(stream, { ...workspace.event(), id }, 'any')).rejects.toMatchObject({
      code: 'validation_failed',
    });
    expect(await stored(stream)).toEqual([]);
    expect((await workspace.append(log, stream)).revision).toBe(0);
  });
}

function reasonsAreErrors(outcomes: PromiseRejectedResult[]): boolean {
  return outcomes.length === 19 && outcomes.every(({ reason }) => reason instanceof ServiceError);
}

function withUserAgent(workspace: TestWorkspace, userAgent: string) {
  const event = workspace.event();
  return { ...event, metadata: { ...event.metadata, userAgent } };
}
