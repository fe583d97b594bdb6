import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { documentFormat, FileHead } from '../../src/modules/records/commands/documents.ts';
import { unavailable } from '../../src/platform/errors.ts';

import { docx, zip } from '../support/samples.ts';

const MB = 1024 * 1024;

/** The format, and how many bytes of the stored file were read to tell it. */
async function tell(filename: string, content: Buffer, chunkSize = 64 * 1024, signal?: AbortSignal) {
  const head = new FileHead();
  head.resume();
  for (let at = 0; at < content.length; at += chunkSize) head.write(content.subarray(at, at + chunkSize));
  head.end();
  let read = 0;
  let reads = 0;
  const format = await documentFormat(
    filename,
    head,
    content.length,
    async (start, end) => {
      read += end - start;
      reads += 1;
      return Readable.from([content.subarray(start, end)]);
    },
    signal,
  );
  return { format, read, reads };
}

const formatOf = async (...of: Parameters<typeof tell>) => (await tell(...of)).format;

test('the format is told whatever the size of the chunks', async () => {
  const content = docx({ deflate: true, contentTypes: 'last' });
  for (const size of [1, 7, 1_000, 65_536]) {
    expect(await formatOf('a.docx', content, size)).toBe('docx');
    expect(await formatOf('a.pdf', Buffer.from('  %PDF-1.7'), size)).toBe('pdf');
  }
});

test('a DOCX is told by its list of content types, wherever it stands, without reading the rest', async () => {
  const pictures = Array.from({ length: 2_000 }, (_, index): [string, Buffer] => [
    `word/media/${'long '.repeat(100)}${index}.png`,
    Buffer.alloc(20_000, index),
  ]);
  for (const contentTypes of ['first', 'last'] as const) {
    const content = docx({ contentTypes, more: pictures });
    const { format, read } = await tell('a.docx', content);
    expect(format).toBe('docx');
    expect(content.length).toBeGreaterThan(40 * MB);
    expect(read).toBeLessThan(4 * MB);
  }
});

test('a list of content types that is too long to be one is not read', async () => {
  const bomb = zip([['[Content_Types].xml', Buffer.alloc(50 * MB)]], { deflate: true });
  const { format, read } = await tell('a.docx', bomb);
  expect(format).toBeUndefined();
  expect(read).toBeLessThanOrEqual(bomb.length);
});

test('the list of entries is read in blocks, and no further than a document can have entries or bytes', async () => {
  const parts = (count: number, name: string) =>
    Array.from({ length: count }, (_, index): [string, string] => [`${name}${index}`, '']);
  const many = await tell('a.docx', docx({ contentTypes: 'last', more: parts(9_990, 'word/media/') as [] }));
  expect(many).toMatchObject({ format: 'docx' });
  expect(many.reads).toBeLessThan(10);
  const more = await tell('a.docx', docx({ contentTypes: 'last', more: parts(20_000, 'word/media/') as [] }));
  expect(more).toMatchObject({ format: undefined, reads: 1 });
  const long = await tell(
    'a.docx',
    docx({ contentTypes: 'last', more: parts(200, 'x'.repeat(60_000)) as [] }),
  );
  expect(long.format).toBeUndefined();
  expect(long.read).toBeLessThan(5 * MB);
});

test('who is gone is not told a format', async () => {
  const gone = unavailable('sender');
  const content = docx({ contentTypes: 'last' });
  await expect(tell('a.docx', content, 64 * 1024, AbortSignal.abort(gone))).rejects.toBe(gone);
});

test('a document with macros is no DOCX', async () => {
  const type = 'application/vnd.ms-word.document.macroEnabled.main+xml';
  const macros = zip([
    ['[Content_Types].xml', `<Types><Override PartName="/word/document.xml" ContentType="${type}"/></Types>`],
    ['word/document.xml', '<document/>'],
  ]);
  expect(await formatOf('a.docx', macros)).toBeUndefined();
});

test('a store that is away while the format is told is said to be', async () => {
  const content = docx({ more: [['word/media/scan.png', Buffer.alloc(3 * MB)]] });
  const ways = {
    'at once': () => {
      throw unavailable('document store');
    },
    'in the middle': (start: number, end: number) =>
      Readable.from(
        (async function* () {
          yield content.subarray(start, Math.min(end, start + 10));
          throw unavailable('document store');
        })(),
      ),
  };
  for (const failing of Object.values(ways)) {
    for (let good = 0; good < 4; good += 1) {
      let reads = 0;
      const read = async (start: number, end: number) =>
        reads++ < good ? Readable.from([content.subarray(start, end)]) : failing(start, end);
      const told = documentFormat('a.docx', new FileHead(), content.length, read);
      const failed = await told.catch(({ code }) => code);
      expect(failed).toBe(reads > good ? 'unavailable' : 'docx');
    }
  }
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
