import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FileHead, recognizeFormat } from '../../src/modules/records/commands/documentFormat.ts';
import { unavailable } from '../../src/platform/errors.ts';

import { docx, zip } from '../support/samples.ts';

const MB = 1024 * 1024;

/** What a file is, and how much of the stored file was read to recognize it. */
async function recognize(filename: string, content: Buffer, chunkSize = 64 * 1024, signal?: AbortSignal) {
  const head = new FileHead();
  head.resume();
  for (let at = 0; at < content.length; at += chunkSize) head.write(content.subarray(at, at + chunkSize));
  head.end();
  let read = 0;
  let reads = 0;
  const recognized = await recognizeFormat(filename, head, {
    size: content.length,
    async read(start, end) {
      read += end - start;
      reads += 1;
      return Readable.from([content.subarray(start, end)]);
    },
    signal,
  });
  return { recognized, read, reads };
}

const recognized = async (...of: Parameters<typeof recognize>) => (await recognize(...of)).recognized;
const isDocx = { format: 'docx' };

test('a format is recognized whatever the size of the chunks', async () => {
  const content = docx({ deflate: true, contentTypes: 'last' });
  for (const size of [1, 7, 1_000, 65_536]) {
    expect(await recognized('a.docx', content, size)).toEqual(isDocx);
    expect(await recognized('a.pdf', Buffer.from('  %PDF-1.7'), size)).toEqual({ format: 'pdf' });
  }
});

test('a DOCX is recognized by its list of content types, wherever it stands, without reading the rest', async () => {
  const pictures = Array.from({ length: 2_000 }, (_, index): [string, Buffer] => [
    `word/media/${'long '.repeat(100)}${index}.png`,
    Buffer.alloc(20_000, index),
  ]);
  for (const contentTypes of ['first', 'last'] as const) {
    const content = docx({ contentTypes, more: pictures });
    const { recognized, read } = await recognize('a.docx', content);
    expect(recognized).toEqual(isDocx);
    expect(content.length).toBeGreaterThan(40 * MB);
    expect(read).toBeLessThan(4 * MB);
  }
});

test('a list of content types that is too long to be one is not read', async () => {
  const bomb = zip([['[Content_Types].xml', Buffer.alloc(50 * MB)]], { deflate: true });
  const { recognized, read } = await recognize('a.docx', bomb);
  expect(recognized).toEqual({ defect: 'oversized' });
  expect(read).toBeLessThanOrEqual(bomb.length);
});

test('the list of entries is read in blocks, and no further than a document can have entries or bytes', async () => {
  const parts = (count: number, name: string) =>
    Array.from({ length: count }, (_, index): [string, string] => [`${name}${index}`, '']);
  const many = await recognize(
    'a.docx',
    docx({ contentTypes: 'last', more: parts(9_990, 'word/media/') as [] }),
  );
  expect(many).toMatchObject({ recognized: isDocx });
  expect(many.reads).toBeLessThan(10);
  const more = await recognize(
    'a.docx',
    docx({ contentTypes: 'last', more: parts(20_000, 'word/media/') as [] }),
  );
  expect(more).toMatchObject({ recognized: { defect: 'oversized' } });
  expect(more.reads).toBeLessThan(4);
  const long = await recognize(
    'a.docx',
    docx({ contentTypes: 'last', more: parts(200, 'x'.repeat(60_000)) as [] }),
  );
  expect(long.recognized).toEqual({ defect: 'oversized' });
  expect(long.read).toBeLessThan(5 * MB);
});

test('nothing is recognized for a sender who is gone', async () => {
  const gone = unavailable('sender');
  const content = docx({ contentTypes: 'last' });
  await expect(recognize('a.docx', content, 64 * 1024, AbortSignal.abort(gone))).rejects.toBe(gone);
});

const PART = 'application/vnd.openxmlformats-officedocument.';
const document = `${PART}wordprocessingml.document.main+xml`;
const types = (content: string) =>
  `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">${content}</Types>`;
const override = (type: string, part = '/word/document.xml') =>
  `<Override PartName="${part}" ContentType="${type}"/>`;
const main = (target: string) =>
  '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" ' +
  `Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="${target}"/>` +
  '</Relationships>';
/** A package with that list of content types, and relationships if given. */
const listing = (list: string | Buffer, relationships = main('word/document.xml')) =>
  zip([
    ['[Content_Types].xml', list],
    ['_rels/.rels', relationships],
  ]);
const utf16 = (text: string) => Buffer.from(text, 'utf16le');
const end = (directorySize: number, offset: number) => {
  const record = Buffer.alloc(22);
  record.write('PK\x05\x06');
  record.writeUInt32LE(directorySize, 12);
  record.writeUInt32LE(offset, 16);
  return record;
};
const comment = (bytes: Buffer) => {
  const whole = docx();
  whole.writeUInt16LE(bytes.length, whole.length - 2);
  return Buffer.concat([whole, bytes]);
};

const opened: [string, Buffer][] = [
  ['a line break after the archive', Buffer.concat([docx(), Buffer.from('\r\n')])],
  ['one byte after the archive', Buffer.concat([docx(), Buffer.from('\0')])],
  ['NUL up to a block of 512 bytes', Buffer.concat([docx(), Buffer.alloc(512 - (docx().length % 512))])],
  ['200,000 bytes after the archive', Buffer.concat([docx(), Buffer.alloc(200_000, 'PK')])],
  ['the beginning of a record after it', Buffer.concat([docx(), Buffer.from('PK\x05\x06')])],
  ['another record after it, of no archive', Buffer.concat([docx(), end(46, 7)])],
  ['bytes before the archive', Buffer.concat([Buffer.from('\r\n'), docx({ deflate: true })])],
  ['bytes before and after it', Buffer.concat([Buffer.alloc(70_000, 1), docx(), Buffer.alloc(70_000, 1)])],
  ['a comment', comment(Buffer.from('written by hand'))],
  ['a comment with a record in it', comment(Buffer.concat([Buffer.from('PK\x05\x06'), Buffer.alloc(30)]))],
  ['a comment that is cut off', comment(Buffer.alloc(300, 'x')).subarray(0, -200)],
  ['types in UTF-16', listing(utf16(`\ufeff${types(override(document))}`))],
  ['types in big-endian UTF-16', listing(utf16(`\ufeff${types(override(document))}`).swap16())],
  ['types in UTF-16 without a mark', listing(utf16(types(override(document))))],
  ['types in UTF-8 with a mark', listing(`\ufeff${types(override(document))}`)],
  [
    'character references',
    listing(types(override(document.replaceAll('.', '&#46;').replace('w', '&#x77;')))),
  ],
  [
    'single quotes, a prefix and blanks',
    listing(
      `<t:Types xmlns:t="x"><t:Override\n ContentType = '${document}' PartName='/word/document.xml' /></t:Types>`,
    ),
  ],
  ['types in upper case', listing(types(override(document.toUpperCase(), '/WORD/Document.xml')))],
  ['a type by the extension', listing(types(`<Default Extension="XML" ContentType="${document}"/>`))],
  ['a target from the root', listing(types(override(document)), main('/word/document.xml'))],
  [
    'a main part of another name',
    listing(types(override(document, '/word/document2.xml')), main('./word/document2.xml')),
  ],
  ['relationships that name nothing', listing(types(override(document)), '<Relationships/>')],
  [
    'names with backslashes',
    zip([
      ['[content_types].XML', types(override(document))],
      ['_rels\\.rels', main('word/document.xml')],
    ]),
  ],
  ['an entry whose name is no path', docx({ more: [['/../x', Buffer.from('x')]] })],
  [
    'a spreadsheet within the document',
    listing(
      types(override(`${PART}spreadsheetml.sheet.main+xml`, '/word/embeddings/a.xml') + override(document)),
    ),
  ],
];
test.each(opened)('a DOCX is recognized as the programs do that open it: %s', async (_label, content) => {
  expect(await recognized('a.docx', content)).toEqual(isDocx);
});

const encrypted = docx({ deflate: true });
for (const signature of ['PK\x03\x04', 'PK\x01\x02']) {
  for (let at = encrypted.indexOf(signature); at !== -1; at = encrypted.indexOf(signature, at + 4)) {
    const flags = at + (signature === 'PK\x03\x04' ? 6 : 8);
    encrypted.writeUInt16LE(1, flags);
  }
}
const macros = 'application/vnd.ms-word.document.macroEnabled.main+xml';
const sheet = `${PART}spreadsheetml.sheet.main+xml`;
const bomb = `<!DOCTYPE Types [<!ENTITY a "${'.'.repeat(1_000)}"><!ENTITY b "${'&a;'.repeat(1_000)}">]>`;
const refused: [string, string, Buffer, string][] = [
  ['text', 'a.docx', Buffer.from('hello'), 'other'],
  ['nothing', 'a.docx', Buffer.alloc(0), 'other'],
  ['a PDF', 'a.docx', Buffer.from('%PDF-1.7'), 'pdf'],
  ['a plain archive', 'a.docx', zip([['notes.txt', 'hello']]), 'other'],
  [
    'a spreadsheet',
    'a.docx',
    listing(types(override(sheet, '/xl/workbook.xml')), main('xl/workbook.xml')),
    'other',
  ],
  [
    'a spreadsheet, Word in a comment',
    'a.docx',
    listing(types(`<!-- ${override(document)} -->${override(sheet)}`)),
    'other',
  ],
  [
    'a spreadsheet, Word in text',
    'a.docx',
    listing(types(`<![CDATA[${override(document)}]]>${override(sheet)}`)),
    'other',
  ],
  [
    'a spreadsheet that contains a document',
    'a.docx',
    listing(types(override(sheet, '/xl/workbook.xml') + override(document)), main('xl/workbook.xml')),
    'other',
  ],
  ['macros', 'a.docx', listing(types(override(macros))), 'macros'],
  [
    'macros in a template',
    'a.docx',
    listing(types(override('application/vnd.ms-word.template.macroEnabledTemplate.main+xml'))),
    'macros',
  ],
  ['a template', 'a.docx', listing(types(override(`${PART}wordprocessingml.template.main+xml`))), 'template'],
  [
    'an OLE file',
    'a.docx',
    Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(504)]),
    'encrypted',
  ],
  ['encrypted entries', 'a.docx', encrypted, 'encrypted'],
  ['an archive that is cut off', 'a.docx', docx().subarray(0, -30), 'damaged'],
  [
    'a directory that is overwritten',
    'a.docx',
    docx().fill(0, docx().indexOf('PK\x01\x02'), docx().length - 22),
    'damaged',
  ],
  ['types that are not XML', 'a.docx', listing(`<Types>${override(document)}`), 'damaged'],
  ['types without number', 'a.docx', listing(types('<Default/>'.repeat(20_000))), 'oversized'],
  ['entities of its own', 'a.docx', listing(`${bomb}${types(override(`${document}&b;`))}`), 'damaged'],
  ['DOCX named .pdf', 'a.pdf', docx(), 'notPdf'],
  ['another name', 'a.doc', docx(), 'name'],
  ['no extension', 'docx', docx(), 'name'],
];
test.each(refused)('what a file is instead is said: %s', async (_label, name, content, defect) => {
  expect(await recognized(name, content)).toEqual({ defect });
});

test('a store that is away while a format is recognized is reported', async () => {
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
      const recognizing = recognizeFormat('a.docx', new FileHead(), { size: content.length, read });
      const result = await recognizing.catch(({ code }) => code);
      expect(result).toEqual(reads > good ? 'unavailable' : isDocx);
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
        const result = await recognized('a.docx', bytes);
        expect('defect' in result || result.format === 'docx').toBe(true);
        expect(await recognized('a.pdf', bytes)).toEqual({ defect: 'notPdf' });
      }
    }),
    { numRuns: 1_000 },
  );
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
      const result = await recognized('a.docx', Buffer.concat([Buffer.from('PK\x03\x04'), bytes]));
      expect(result).toEqual({ defect: expect.stringMatching(/^(?:other|damaged)$/) });
    }),
    { numRuns: 500 },
  );
});
