import { expect, test } from 'vitest';
import { contentOf, Ledger } from '../../ops/torture/support/Ledger.ts';
import type { RecordedEvent } from '../../src/domain/events/event.ts';

const stream = 'clinic.payer-1';

/** The events that a stream holds, by the names that were sent. */
function holding(...names: string[]): RecordedEvent[] {
  return names.map(
    (name, revision) =>
      ({ stream, type: 'PayerUpserted', revision, data: { name } }) as unknown as RecordedEvent,
  );
}

/** A ledger of three writes, of which the last was not answered. */
function ledger(): Ledger {
  const one = new Ledger();
  one.attempt(stream, contentOf({ name: 'a' })).version = 1;
  one.attempt(stream, contentOf({ name: 'b' })).version = 2;
  one.attempt(stream, contentOf({ name: 'c' }));
  return one;
}

test.each([
  [['a', 'b'], 0],
  [['a', 'b', 'c'], 1],
])('a log that holds %j is right', (names, writtenUnanswered) => {
  expect(ledger().check(holding(...names))).toEqual({
    attempted: 3,
    acknowledged: 2,
    writtenUnanswered,
    failures: [],
  });
});

test.each([
  ['lost', ['a'], [`lost: ${stream} version 2`]],
  ['doubled', ['a', 'b', 'b'], [`doubled: ${stream} version 3 holds what an earlier version does`]],
  ['altered', ['a', 'b', 'd'], [`nobody sent what ${stream} version 3 holds`]],
  [
    'out of order',
    ['b', 'a'],
    [
      `${stream} version 1 was acknowledged as version 2`,
      `out of order: ${stream} version 2`,
      `${stream} version 2 was acknowledged as version 1`,
    ],
  ],
])('what is %s is named', (_, names, failures) => {
  expect(ledger().check(holding(...names)).failures).toEqual(failures);
});

test('the latest acknowledged write of a stream is known', () => {
  expect([...ledger().latest()]).toEqual([[stream, expect.objectContaining({ version: 2 })]]);
});
