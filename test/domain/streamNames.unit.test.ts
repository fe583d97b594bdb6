import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  documentStream,
  KEYS_STREAM,
  kindPartition,
  recordStream,
  WORKSPACE_ID,
} from '../../src/domain/events/streams.ts';
import { specKinds } from '../support/samples.ts';

const awkward = ['a/b', '..', '.', '%2F', '%', '/', '-', 'ü', 'u\u0308', '😀', ' ', 'payer-1', 'x.payer-1'];
const id = fc.oneof(
  fc.constantFrom(...awkward),
  fc.string({ minLength: 1, maxLength: 255, unit: 'grapheme' }),
  fc.string({ minLength: 1, maxLength: 4, unit: fc.constantFrom('/', '%', '.', '-', '2', 'F', 'a') }),
);
const workspace = fc.stringMatching(WORKSPACE_ID);
const kind = fc.constantFrom(...specKinds);
const record = fc.tuple(workspace, kind, id);
const document = fc.tuple(workspace, id, id);

/** What a stream's name says, read as the design writes it: `{workspace}.{category}-{encoded id}`. */
function decode(name: string): string[] {
  const [, space, category, encoded] = /^([a-z0-9_]+)\.([a-z]+)-(.*)$/s.exec(name) ?? [];
  const inner = decodeURIComponent(encoded as string);
  return category === 'document'
    ? [space as string, ...inner.split('/').map(decodeURIComponent)]
    : [space as string, category as string, inner];
}

describe('the name of a stream', () => {
  test('gives back what it was made of, so that no two records share one', () => {
    fc.assert(
      fc.property(record, (parts) => {
        expect(decode(recordStream(...parts))).toEqual(parts);
      }),
    );
    fc.assert(
      fc.property(document, (parts) => {
        expect(decode(documentStream(...parts))).toEqual(parts);
      }),
    );
  });

  test('of different records and documents differs', () => {
    const names = fc.oneof(
      record.map((parts) => ({ parts: ['record', ...parts], name: recordStream(...parts) })),
      document.map((parts) => ({ parts: ['document', ...parts], name: documentStream(...parts) })),
    );
    fc.assert(
      fc.property(names, names, (one, other) => {
        expect(one.name === other.name).toBe(JSON.stringify(one.parts) === JSON.stringify(other.parts));
      }),
      { numRuns: 1_000 },
    );
    expect(documentStream('clinic', 'a/b', 'c')).not.toBe(documentStream('clinic', 'a', 'b/c'));
  });

  test('begins with the prefix of its own workspace and of no other', () => {
    fc.assert(
      fc.property(record, workspace, ([own, ...rest], other) => {
        const name = recordStream(own, ...rest);
        expect(name.startsWith(`${own}.`)).toBe(true);
        expect(name.startsWith(`${other}.`)).toBe(own === other);
        expect(KEYS_STREAM.startsWith(`${own}.`)).toBe(false);
      }),
    );
    expect(recordStream('a_b', 'payer', '1').startsWith('a.')).toBe(false);
  });

  test('is plain ASCII without slashes or spaces', () => {
    fc.assert(
      fc.property(record, (parts) => {
        expect(recordStream(...parts)).toMatch(/^[\w.!~*'()%-]+$/);
      }),
    );
    fc.assert(
      fc.property(document, (parts) => {
        expect(documentStream(...parts)).toMatch(/^[\w.!~*'()%-]+$/);
      }),
    );
  });
});

test('each workspace and kind has a partition of its own', () => {
  fc.assert(
    fc.property(workspace, kind, workspace, kind, (one, oneKind, other, otherKind) => {
      const same = one === other && oneKind === otherKind;
      expect(kindPartition(one, oneKind) === kindPartition(other, otherKind)).toBe(same);
    }),
  );
});

test.each(['a', 'A1', 'a.b', 'a-b', 'ä1', 'a b', '', 'a'.repeat(41), '../x', 'ab\n'])(
  'a workspace cannot be called %j',
  (name) => {
    expect(WORKSPACE_ID.test(name)).toBe(false);
  },
);
