import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { FileHead } from '../../src/commands/documentFile.ts';
import { docx } from '../support/docx.ts';

async function formatOf(filename: string, content: Buffer, chunkSize = 64 * 1024) {
  const head = new FileHead();
  head.resume();
  for (let at = 0; at < content.length; at += chunkSize) head.write(content.subarray(at, at + chunkSize));
  head.end();
  return head.format(filename);
}

test('the format is told whatever the size of the chunks', async () => {
  const content = docx({ deflate: true, contentTypes: 'last' });
  for (const size of [1, 7, 1_000, 65_536]) expect(await formatOf('a.docx', content, size)).toBe('docx');
});

test('bytes of any kind are a format or none, never an error', async () => {
  const whole = docx({ deflate: true });
  const place = fc.integer({ min: 4, max: whole.length - 1 });
  const damage = fc.array(fc.tuple(place, fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(damage, place, async (changes, end) => {
      const content = Buffer.from(whole);
      for (const [at, byte] of changes) content[at] = byte;
      for (const bytes of [content, content.subarray(0, end)]) {
        expect([undefined, 'docx']).toContain(await formatOf('a.docx', bytes));
        expect(await formatOf('a.pdf', bytes)).toBeUndefined();
      }
    }),
    { numRuns: 1_000 },
  );
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
      expect(await formatOf('a.docx', Buffer.concat([Buffer.from('PK\x03\x04'), bytes]))).toBeUndefined();
    }),
    { numRuns: 500 },
  );
});
