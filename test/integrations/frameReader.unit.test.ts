import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  FrameReader,
  FramingError,
  framed,
  MAX_FRAME_BYTES,
  MAX_STRAY_BYTES,
} from '../../src/api/mllp/connection.ts';
import { MAX_MESSAGE_BYTES } from '../../src/modules/integrations/hl7/parser.ts';

/** What a reader finds in bytes that come in pieces of these sizes, again and again. */
function found(bytes: Buffer, sizes: readonly number[]) {
  const reader = new FrameReader();
  const frames: { text: string; isTooLarge: boolean }[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] as number;
    for (const { bytes: one, isTooLarge } of reader.read(bytes.subarray(at, at + size))) {
      frames.push({ text: one.toString('latin1'), isTooLarge });
    }
    at += size;
  }
  return { frames, isWithin: reader.isWithin };
}

test('frames are the same in whatever pieces they come', () => {
  // With the signs of frames in it, but for a whole end.
  const content = fc
    .array(fc.constantFrom('M', '|', '\r', '\n', '\x1c', '\x0b', 'é'), { maxLength: 30 })
    .map((signs) => signs.join(''))
    .filter((text) => !['\x1c\r', '\x1c\x0b'].some((end) => text.includes(end)) && !text.endsWith('\x1c'));
  const stray = fc.constantFrom('', '\r\n', '\n', '\x1c\r', 'noise');
  const pieces = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(fc.array(fc.tuple(stray, content), { maxLength: 6 }), pieces, (sent, sizes) => {
      const bytes = Buffer.concat(
        sent.flatMap(([before, text]) => [Buffer.from(before), framed(Buffer.from(text, 'latin1'))]),
      );
      expect(found(bytes, sizes)).toEqual({
        frames: sent.map(([, text]) => ({ text, isTooLarge: false })),
        isWithin: false,
      });
    }),
  );
});

test('FS ends a frame without CR where the next one begins, and nowhere else', () => {
  const bytes = Buffer.from('\x0bone\x1c\x0btwo\x1c\n\x1cthree\x1c\r\x0bfour\x1c');
  for (let size = 1; size <= bytes.length; size += 1) {
    expect(found(bytes, [size])).toEqual({
      frames: ['one', 'two\x1c\n\x1cthree'].map((text) => ({ text, isTooLarge: false })),
      isWithin: true,
    });
  }
});

test('a message of the most bytes is whole, and one that is larger is said to be', () => {
  for (const [size, isTooLarge] of [
    [MAX_MESSAGE_BYTES, false],
    [MAX_MESSAGE_BYTES + 1, true],
    [MAX_MESSAGE_BYTES + 2, true],
    [MAX_FRAME_BYTES - 2, true],
  ] as const) {
    const bytes = framed(Buffer.alloc(size, 'x'));
    for (const pieces of [[bytes.length], [65_536], [MAX_MESSAGE_BYTES + 1, 1]]) {
      const { frames, isWithin } = found(Buffer.concat([bytes, framed(Buffer.from('next'))]), pieces);
      expect(isWithin).toBe(false);
      expect(frames.map((frame) => frame.isTooLarge)).toEqual([isTooLarge, false]);
      if (!isTooLarge) expect(frames[0]?.text).toHaveLength(size);
      expect(frames[0]?.text.length).toBeLessThanOrEqual(MAX_MESSAGE_BYTES + 2);
      expect(frames[1]?.text).toBe('next');
    }
  }
});

test('what is not framed, or a frame without end, is told of at a bound', () => {
  const stray = Buffer.alloc(MAX_STRAY_BYTES, '\n');
  expect(found(Buffer.concat([stray, framed(Buffer.from('a')), stray]), [100]).frames).toHaveLength(1);
  expect(() => found(Buffer.concat([stray, Buffer.from('\n')]), [100])).toThrow(FramingError);
  const endless = Buffer.concat([Buffer.from('\x0b'), Buffer.alloc(MAX_FRAME_BYTES + 1, 'x')]);
  expect(() => found(endless, [65_536])).toThrow(FramingError);
  expect(found(endless.subarray(0, 100), [7])).toEqual({ frames: [], isWithin: true });
});
