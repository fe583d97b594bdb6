import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readParts } from '../../src/api/server/formParts.ts';

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer, void> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** What arrives of a form: the headers and the content of each part. */
async function read(bytes: Buffer, boundary: string, size = bytes.length) {
  const parts: { headers: string; content: string }[] = [];
  for await (const { headers, content } of readParts(inPieces(bytes, size), boundary)) {
    const chunks = await Array.fromAsync(content);
    parts.push({ headers, content: Buffer.concat(chunks).toString('latin1') });
  }
  return parts;
}

const boundary = 'a-b';
/** Bytes that are likely to be taken for a boundary, or for a part of one. */
const piece = fc.constantFrom(
  '\r',
  '\n',
  '\r\n',
  '-',
  '--',
  '--a-',
  '\r\n--a-b.',
  '\n--a-',
  ' ',
  '\0',
  'x',
  '\xff',
);
const content = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));
/** A boundary within the content would end it. */
const isContent = (text: string) => !/(?:^|\n)--a-b(?:--|[ \t]*\r?(?:\n|$))/.test(text);

test('any content is read to the byte, in pieces of any size', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(content.filter(isContent), { minLength: 1, maxLength: 4 }),
      fc.constantFrom('', ' ', '\t \t'),
      fc.constantFrom('', '\r\n', ' \r\nan epilogue\r\n--a-b\r\n'),
      fc.integer({ min: 1, max: 40 }),
      async (contents, padding, end, size) => {
        const parts = contents.map((text, n) => `--a-b${padding}\r\nX: ${n}\r\n\r\n${text}\r\n`);
        const form = Buffer.from(`a preamble\r\n${parts.join('')}--a-b--${end}`, 'latin1');
        const expected = contents.map((text, n) => ({ headers: `X: ${n}\r\n`, content: text }));
        expect(await read(form, boundary, size)).toEqual(expected);
      },
    ),
    { numRuns: 2_000 },
  );
});

test('a CR before a boundary is content where the lines of the form end with LF', async () => {
  const form = (first: string) => Buffer.from(`--a-b\nX: 1\n\n${first}\n--a-b\nX: 2\n\n%%EOF\r\n--a-b--\n`);
  const contents = async (first: string) => (await read(form(first), boundary)).map(({ content }) => content);
  expect(await contents('field')).toEqual(['field', '%%EOF\r']);
  // The line before the second boundary ends with CRLF.
  expect((await contents('field\r'))[1]).toBe('%%EOF');
});

test.each([
  ['an empty part', '--a-b\r\nX: 1\r\n\r\n\r\n--a-b--', ['']],
  ['an empty part without a line of its own', '--a-b\r\nX: 1\r\n\r\n--a-b--', ['']],
  ['a part without headers', '--a-b\r\n\r\ntext\r\n--a-b--', ['text']],
  ['no part', '--a-b--', []],
  [
    'white space without end',
    `--a-b\r\n\r\n1\r\n--a-b${' '.repeat(2_000)}\r\n--a-b--`,
    [`1\r\n--a-b${' '.repeat(2_000)}`],
  ],
])('%s is read', async (_label, form, contents) => {
  for (const size of [1, form.length]) {
    expect((await read(Buffer.from(form), boundary, size)).map(({ content }) => content)).toEqual(contents);
  }
});

test('content is passed on as it arrives, and hardly any of it is kept', async () => {
  const chunk = Buffer.alloc(64 * 1024, 'x');
  let sent = 0;
  const source = async function* () {
    yield Buffer.from('--a-b\r\n\r\n');
    for (; sent < 400; sent += 1) yield chunk;
    yield Buffer.from('\r\n--a-b--');
  };
  let received = 0;
  for await (const { content } of readParts(source(), boundary)) {
    for await (const bytes of content) {
      received += bytes.length;
      expect(sent * chunk.length - received).toBeLessThan(100);
    }
  }
  expect(received).toBe(400 * chunk.length);
});

test('a form fails as its source does', async () => {
  const source = async function* () {
    yield Buffer.from('--a-b\r\n\r\ntext');
    throw new Error('gone');
  };
  const parts = readParts(source(), boundary);
  const part = await parts.next();
  await expect(Array.fromAsync(part.value?.content ?? [])).rejects.toThrow('gone');
});
