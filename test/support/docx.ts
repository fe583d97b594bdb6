import { crc32, deflateRawSync } from 'node:zlib';

interface ZipOptions {
  /** Compress the entries; default false. */
  deflate?: boolean;
  /** Say sizes after the data, as programs that write to a pipe do; default false. */
  streamed?: boolean;
}

/** A ZIP file of these entries in this order. */
export function zip(entries: [name: string, content: string | Buffer][], options: ZipOptions = {}): Buffer {
  const { deflate = false, streamed = false } = options;
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of entries) {
    const raw = Buffer.from(content);
    const data = deflate ? deflateRawSync(raw) : raw;
    const sums = Buffer.alloc(12);
    sums.writeUInt32LE(crc32(raw), 0);
    sums.writeUInt32LE(data.length, 4);
    sums.writeUInt32LE(raw.length, 8);
    const common = Buffer.alloc(10);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(streamed ? 8 : 0, 2);
    common.writeUInt16LE(deflate ? 8 : 0, 4);
    const lengths = Buffer.alloc(4);
    lengths.writeUInt16LE(Buffer.byteLength(name), 0);
    const local = Buffer.concat([
      Buffer.from('PK\x03\x04'),
      common,
      streamed ? Buffer.alloc(12) : sums,
      lengths,
      Buffer.from(name),
      data,
      streamed ? Buffer.concat([Buffer.from('PK\x07\x08'), sums]) : Buffer.alloc(0),
    ]);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    const made = Buffer.from([20, 0]);
    directory.push(Buffer.from('PK\x01\x02'), made, common, sums, lengths, place, Buffer.from(name));
    files.push(local);
    offset += local.length;
  }
  const listing = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(listing.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...files, listing, end]);
}

const MAIN = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml';
const contentTypes: [string, string] = [
  '[Content_Types].xml',
  `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/word/document.xml" ContentType="${MAIN}"/></Types>`,
];
const relations: [string, string] = ['_rels/.rels', '<?xml version="1.0"?><Relationships/>'];
const text: [string, string] = ['word/document.xml', '<?xml version="1.0"?><document>Seen today.</document>'];

export interface DocxOptions extends ZipOptions {
  /** Where the list of content types stands: Word writes it first, LibreOffice and others last. */
  contentTypes?: 'first' | 'last';
  /** Entries between, such as pictures. */
  more?: [string, Buffer][];
}

/** A DOCX file, small but whole. */
export function docx(options: DocxOptions = {}): Buffer {
  const parts = [relations, ...(options.more ?? []), text];
  return zip(options.contentTypes === 'last' ? [...parts, contentTypes] : [contentTypes, ...parts], options);
}
