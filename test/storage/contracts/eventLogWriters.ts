import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { NewEvent } from '../../../src/domain/events/event.ts';
import type { Appended, EventLog } from '../../../src/storage/eventLog.ts';

import { erase } from '../../support/erasure.ts';
import { TestWorkspace } from '../../support/samples.ts';

/** What holds for appends of several who have the same log open: nobody goes by what was before another's append. */
export function eventLogWriters(open: () => Promise<EventLog>): void {
  let workspace: TestWorkspace;
  let one: EventLog;
  let other: EventLog;
  beforeAll(async () => {
    one = await open();
    other = await open();
  });
  afterAll(() => Promise.all([one.close(), other.close()]));
  beforeEach(() => {
    workspace = new TestWorkspace();
  });

  const dataOf = async (stream: string) =>
    (await one.readStream(stream, { limit: 1_000 })).map(({ data }) => data.n);

  test('appends to the same streams by turns get places of their own, in order', async () => {
    const streams = [workspace.stream(), workspace.stream(), workspace.stream()];
    const positions = [];
    for (let n = 0; n < 30; n += 1) {
      const stream = streams[n % 3] as string;
      const place = await workspace.append(n % 2 ? one : other, stream, { n });
      expect(place.revision).toBe(Math.floor(n / 3));
      positions.push(place.position);
    }
    expect(positions).toEqual([...positions].sort((a, b) => a - b));
    for (const [at, stream] of streams.entries()) {
      expect(await dataOf(stream)).toEqual(Array.from({ length: 10 }, (_, n) => n * 3 + at));
    }
  });

  test('appends to one stream at once all get places of their own', async () => {
    const stream = workspace.stream();
    const places = (
      await Promise.all([one, other].map((log) => workspace.appendMany(log, 400, [stream])))
    ).flat();
    const revisions = places.map(({ revision }) => revision).sort((a, b) => a - b);
    expect(revisions).toEqual(Array.from({ length: 800 }, (_, n) => n));
  });

  test('an expectation is held against what another appended last', async () => {
    const stream = workspace.stream();
    await workspace.append(one, stream, { n: 0 }, 'none');
    const conflict = { code: 'version_conflict' };
    await expect(workspace.append(other, stream, {}, 'none')).rejects.toMatchObject(conflict);
    await workspace.append(other, stream, { n: 1 }, 0);
    await expect(workspace.append(one, stream, {}, 0)).rejects.toMatchObject(conflict);
    await workspace.append(one, stream, { n: 2 }, 1);
    await expect(workspace.append(other, stream, {}, 1)).rejects.toMatchObject(conflict);
    expect(await dataOf(stream)).toEqual([0, 1, 2]);
  });

  test('an event that another appended is not appended once more, however late it comes again', async () => {
    const stream = workspace.stream();
    // Ids rise; one of them comes late.
    const [late, ...events] = Array.from({ length: 5 }, (_, n) => workspace.event({ n })) as [
      NewEvent,
      ...NewEvent[],
    ];
    const sent: [NewEvent, Appended][] = [];
    for (const [at, event] of events.toSpliced(2, 0, late).entries()) {
      sent.push([event, await (at % 2 ? one : other).append(stream, event, 'any')]);
    }
    for (const [event, place] of sent) {
      expect(await one.append(stream, event, 'any')).toEqual(place);
      expect(await other.append(stream, event, 'any')).toEqual(place);
    }
    expect((await workspace.append(one, stream, { n: 5 })).revision).toBe(5);
    expect(await dataOf(stream)).toEqual([1, 2, 0, 3, 4, 5]);
  });

  test('a stream that another erased says so to whoever appends', async () => {
    const stream = workspace.stream();
    expect(await workspace.append(one, stream, { n: 0 })).not.toHaveProperty('erased');
    await erase(other, workspace, stream);
    expect(await workspace.append(one, stream, { n: 1 })).toMatchObject({ erased: true, revision: 2 });
    await expect(workspace.append(one, stream, {}, 0)).rejects.toMatchObject({ code: 'version_conflict' });
  });
}
