import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { MAX_EVENT_BYTES } from '../../../src/domain/events/event.ts';
import type { Append, Appended, EventLog, ExpectedRevision } from '../../../src/storage/eventLog.ts';

import { erase } from '../../support/erasure.ts';
import { TestWorkspace } from '../../support/samples.ts';

const conflict = { code: 'version_conflict' };

/** What holds for appends that are made together: each is as if it were made alone. */
export function eventLogGroups(open: () => Promise<EventLog>): void {
  let workspace: TestWorkspace;
  let log: EventLog;
  beforeAll(async () => {
    log = await open();
  });
  afterAll(() => log.close());
  beforeEach(() => {
    workspace = new TestWorkspace();
  });

  const append = (stream: string, n: number, expected: ExpectedRevision = 'any'): Append => ({
    stream,
    event: workspace.event({ n }),
    expected,
  });
  const dataOf = async (stream: string) =>
    (await log.readStream(stream, { limit: 1_000 })).map(({ data }) => data.n);

  test('none is an empty list', async () => {
    expect(await log.appendEach([])).toEqual([]);
  });

  test('each gets its place, in the order in which they were given', async () => {
    const streams = Array.from({ length: 300 }, () => workspace.stream());
    const results = await log.appendEach(streams.map((stream, n) => append(stream, n, 'none')));
    for (const [n, stream] of streams.entries()) {
      expect(await log.readStream(stream, { limit: 10 })).toMatchObject([{ data: { n }, ...results[n] }]);
    }
  });

  test('those of one stream keep their order', async () => {
    const [one, other] = [workspace.stream(), workspace.stream()];
    const appends = Array.from({ length: 40 }, (_, n) => append(n % 4 === 3 ? other : one, n));
    const results = (await log.appendEach(appends)) as Appended[];
    expect(await dataOf(one)).toEqual(
      appends.flatMap(({ event: { data } }, n) => (n % 4 === 3 ? [] : [data.n])),
    );
    expect(await dataOf(other)).toEqual([3, 7, 11, 15, 19, 23, 27, 31, 35, 39]);
    expect(results.filter((_, n) => n % 4 === 3).map(({ revision }) => revision)).toEqual([
      0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
    ]);
  });

  test('a conflict is the answer of that one alone, also where an earlier one is its reason', async () => {
    const stream = workspace.stream();
    const [free, taken] = [workspace.stream(), workspace.stream()];
    await workspace.append(log, taken);
    const results = await log.appendEach([
      append(stream, 0, 'none'),
      append(taken, 1, 'none'),
      append(stream, 2, 0),
      append(stream, 3, 0),
      append(free, 4, 0),
      append(stream, 5, 1),
    ]);
    expect(results).toMatchObject([
      { revision: 0 },
      { ...conflict, message: 'The record is at version 1.', version: 1 },
      { revision: 1 },
      { ...conflict, version: 2 },
      { ...conflict, message: 'The record does not exist.' },
      { revision: 2 },
    ]);
    expect([await dataOf(stream), await dataOf(free)]).toEqual([[0, 2, 5], []]);
  });

  test('an event that is none of the log is refused by itself', async () => {
    const stream = workspace.stream();
    const large = { ...append(stream, 1), event: workspace.event({ text: 'x'.repeat(MAX_EVENT_BYTES) }) };
    const unnamed = { ...append(stream, 2), event: { ...workspace.event(), id: 'no-uuid' } };
    const results = await log.appendEach([append(stream, 0), large, unnamed, append(stream, 3)]);
    expect(results).toMatchObject([
      { revision: 0 },
      { code: 'payload_too_large' },
      { code: 'validation_failed' },
      { revision: 1 },
    ]);
    expect(await dataOf(stream)).toEqual([0, 3]);
  });

  test('an event that is there already answers with its place, within one call, too', async () => {
    const stream = workspace.stream();
    const [first, second] = [append(stream, 0), append(stream, 1)];
    const before = await log.append(stream, first.event, 'any');
    const results = await log.appendEach([second, first, second]);
    expect(results).toMatchObject([{ revision: 1 }, before, { revision: 1 }]);
    expect(await log.appendEach([first, second])).toEqual([results[1], results[0]]);
    expect(await dataOf(stream)).toEqual([0, 1]);
  });

  test('groups and single appends at once all get places of their own', async () => {
    const stream = workspace.stream();
    const groups = Array.from({ length: 4 }, () => Array.from({ length: 50 }, (_, n) => append(stream, n)));
    const [singles, ...grouped] = await Promise.all([
      workspace.appendMany(log, 200, [stream]),
      ...groups.map((group) => log.appendEach(group)),
    ]);
    const revisions = [...singles, ...(grouped.flat() as Appended[])].map(({ revision }) => revision);
    expect(revisions.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 400 }, (_, n) => n));
    for (const results of grouped as Appended[][]) {
      const own = results.map(({ revision }) => revision);
      expect(own).toEqual(own.toSorted((a, b) => a - b));
    }
  });

  test('a stream of which events were erased says so', async () => {
    const stream = workspace.stream();
    await workspace.append(log, stream, { n: 0 });
    await erase(log, workspace, stream);
    const [result] = await log.appendEach([append(stream, 1)]);
    expect(result).toMatchObject({ erased: true, revision: 2 });
  });
}
