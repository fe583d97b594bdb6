import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { storedFiles } from '../support/files.ts';
import { phi } from '../support/output.ts';
import { createEncounter, documentLine, documentsPath, pdf } from '../support/samples.ts';
import { appendedBy, sharedService, type TestService } from '../support/service.ts';

interface Form {
  /** As the `Content-Type` of the request has it; default: as it is in the body. */
  named?: string;
  boundary?: string;
  /** What ends the lines of headers. */
  newline?: string;
  /** What precedes a boundary, and what follows it. */
  before?: string;
  after?: string;
  preamble?: string;
  /** The last boundary and what follows it. */
  end?: string;
  /** Header lines of the fields, besides `Content-Disposition`. */
  fieldHeaders?: string[];
  /** What names the file, in the `Content-Disposition` of its part. */
  disposition?: string;
  fileHeaders?: string[];
  category?: string | Buffer;
  more?: [string[], string | Buffer][];
  content?: Buffer;
}

const latin1 = (text: string) => Buffer.from(text, 'latin1');

describe('forms as clients write them', () => {
  let service: TestService;
  let encounter: string;
  beforeAll(async () => {
    service = await sharedService();
    encounter = await createEncounter(service);
  });
  afterAll(() => service.stop());

  function bodyOf(documentId: string, form: Form): Buffer {
    const { boundary = 'xyz', newline = '\r\n', before = '\r\n', after = '\r\n' } = form;
    const {
      disposition = 'name="file"; filename="a.pdf"',
      end = `--${boundary}--\r\n`,
      category = 'referral',
    } = form;
    const parts: [string[], string | Buffer][] = [
      [['Content-Disposition: form-data; name="document_id"', ...(form.fieldHeaders ?? [])], documentId],
      [['Content-Disposition: form-data; name="category"', ...(form.fieldHeaders ?? [])], category],
      ...(form.more ?? []),
      [
        [
          `Content-Disposition: form-data; ${disposition}`,
          ...(form.fileHeaders ?? ['Content-Type: application/pdf']),
        ],
        form.content ?? content,
      ],
    ];
    const pieces = parts.flatMap(([headers, value]) => [
      latin1(`--${boundary}${after}${headers.map((header) => header + newline).join('')}${newline}`),
      typeof value === 'string' ? Buffer.from(value) : value,
      latin1(before),
    ]);
    return Buffer.concat([latin1(form.preamble ?? ''), ...pieces, latin1(end)]);
  }

  const send = (documentId: string, form: Form, headers: Record<string, string> = {}) =>
    service.send(documentsPath(encounter), {
      method: 'POST',
      body: bodyOf(documentId, form),
      headers: {
        'content-type': `multipart/form-data; boundary=${form.named ?? form.boundary ?? 'xyz'}`,
        ...headers,
      },
    });

  /** Has line breaks of all kinds, NUL, bytes that are not text, and what looks like a boundary. */
  const content = Buffer.concat([
    pdf('\r\n\n\r\r\n--\r\n--xy\n--xyzz\r\n--xyz-\n--xyz x\r\n--xyz\r.'),
    Buffer.from([0, 0xff, 0xfe, 0x0d, 0x0d, 0x0a, 0x0a]),
  ]);

  const accepted: [string, Form][] = [
    ['a boundary with =', { boundary: '===1656457491496===' }],
    ['a boundary with /', { boundary: '-X/h_b.c', named: '-X/h_b.c ; charset=utf-8' }],
    ['a boundary with blanks', { boundary: 'two words', named: 'two words' }],
    ['a boundary with blanks around its sign', { named: ' xyz', boundary: 'xyz' }],
    ['a boundary with an escaped quote', { boundary: 'a"b', named: '"a\\"b"' }],
    ['a boundary whose last quote is missing', { named: '"xyz' }],
    ['a boundary with bytes beyond ASCII', { boundary: 'gr\xfcn' }],
    ['white space after boundaries', { after: ' \t\r\n', end: '--xyz-- \t\r\n' }],
    ['nothing after the last boundary', { end: '--xyz--' }],
    ['an epilogue', { end: '--xyz--\r\nthe end\r\n--xyz\r\nno part\r\n' }],
    ['NUL after the last boundary', { end: `--xyz--${'\0'.repeat(512)}` }],
    ['a preamble', { preamble: 'a form\r\n--xy\r\n\r\n' }],
    ['LF everywhere', { newline: '\n', before: '\n', after: '\n', end: '--xyz--\n' }],
    ['LF before boundaries', { before: '\n' }],
    ['LF after boundaries', { after: '\n' }],
    ['LF in headers', { newline: '\n' }],
    ['LF after boundaries and in headers', { newline: '\n', after: '\n' }],
    [
      'LF and a file that ends with CR',
      { newline: '\n', before: '\n', after: '\n', content: Buffer.concat([pdf(), latin1('\r')]) },
    ],
    ['a file that ends with CR', { content: Buffer.concat([pdf(), latin1('\r')]) }],
    ['a file that ends with line breaks', { content: Buffer.concat([pdf(), latin1('\r\n\r\n')]) }],
    ['headers without blanks', { disposition: 'name=file;filename=a.pdf' }],
    ['headers with more blanks', { disposition: ' name = "file" ;  filename = "a.pdf" ' }],
    ['headers in several lines', { disposition: 'name="file";\r\n filename="a.pdf"' }],
    ['a header line that is none', { fileHeaders: ['nothing', 'Content-Type: application/pdf'] }],
    ['a trailing semicolon', { disposition: 'name="file"; filename="a.pdf";' }],
    ['two semicolons', { disposition: 'name="file";; filename="a.pdf"' }],
    ['another disposition', { disposition: 'x; name="file"; filename="a.pdf"' }],
    ['fields as bytes', { fieldHeaders: ['Content-Type: application/octet-stream'] }],
    ['fields as JSON', { fieldHeaders: ['Content-Type: application/json'] }],
    ['fields of an unknown charset', { fieldHeaders: ['Content-Type: text/plain; charset=x-none'] }],
    ['fields of a type that is none', { fieldHeaders: ['Content-Type: text'] }],
    ['fields in Latin-1', { fieldHeaders: ['Content-Type: text/plain; charset=ISO-8859-1'] }],
    ['a line break too many', { before: '\r\n\r\n' }],
    ['a field with a byte order mark', { category: '\ufeffreferral' }],
    ['a file of a multipart type', { fileHeaders: ['Content-Type: multipart/mixed; boundary=xy'] }],
    ['a file that is a message by its type', { fileHeaders: ['Content-Type: message/rfc822'] }],
    ['a file without a type', { fileHeaders: [] }],
  ];
  test.each(accepted)('are accepted, and the file is stored to the byte: %s', async (_label, form) => {
    const id = phi('document');
    const appended = await appendedBy(service, async () => {
      const { status, body } = await send(id, form);
      expect({ status, body }).toEqual({
        status: 200,
        body: { success: true, document_id: id, version: 1, warnings: [] },
      });
    });
    expect(appended).toEqual([documentLine(encounter, id)]);
    const { bytes } = await service.get(documentsPath(encounter, id));
    const extra = form.before?.slice(0, -2) ?? '';
    expect(bytes.toString('latin1')).toBe((form.content ?? content).toString('latin1') + extra);
  });

  const utf8 = (text: string) => Buffer.from(text).toString('latin1');
  const names: [string, string, string][] = [
    ['parentheses without quotes', 'filename=report(1).pdf', 'report(1).pdf'],
    ['a blank without quotes', 'filename=my report.pdf', 'my report.pdf'],
    ['a blank without quotes, then more', 'filename=my report.pdf ; x=y', 'my report.pdf'],
    ['UTF-8 without quotes', `filename=${utf8('Müller.pdf')}`, 'Müller.pdf'],
    ['UTF-8', `filename="${utf8('報告 🩺 à.pdf')}"`, '報告 🩺 à.pdf'],
    ['Latin-1', 'filename="M\xfcller.pdf"', 'Müller.pdf'],
    ['Windows-1252', 'filename="\x80\x93x\x94.pdf"', '€“x”.pdf'],
    ['Latin-1 without quotes', 'filename=M\xfcller.pdf', 'Müller.pdf'],
    ['a quote within quotes', 'filename="a "b" c.pdf"', 'a "b" c.pdf'],
    ['an escaped quote', String.raw`filename="a \"b\"; c.pdf"`, 'a "b"; c.pdf'],
    ['a quote as browsers write it', 'filename="a %22b%22.pdf"', 'a "b".pdf'],
    ['a semicolon within quotes', 'filename="a;b=c.pdf"', 'a;b=c.pdf'],
    ['a quote that is not closed', 'filename="a b.pdf', 'a b.pdf'],
    ['text after the last quote', 'filename="a b.pdf"x', 'a b.pdf'],
    ['a path of Windows', String.raw`filename="C:\scans\new\a.pdf"`, 'a.pdf'],
    ['an escaped path of Windows', String.raw`filename="C:\\scans\\a.pdf"`, 'a.pdf'],
    ['a path', 'filename="/home/scans/a.pdf"', 'a.pdf'],
    ['an unknown charset, then another name', "filename*=x-none''%B1.pdf; filename=b.pdf", 'b.pdf'],
    ['another name, then a charset few know', "filename=b.pdf; filename*=gb18030''%B1%A8%B8%E6.pdf", 'b.pdf'],
    ['a charset few know', "filename*=gb18030''%B1%A8%B8%E6.pdf", '报告.pdf'],
    [
      'bytes that are not of the charset, after another name',
      "filename=b.pdf; filename*=UTF-8''%B1.pdf",
      'b.pdf',
    ],
    ['a broken escape after another name', "filename=b.pdf; filename*=UTF-8''%ZZ.pdf", 'b.pdf'],
    ['an extended name', "filename=b.pdf; filename*=UTF-8'de'M%C3%BCller%20%22.pdf", 'Müller ".pdf'],
    ['an extended name in quotes', `filename*="UTF-8''M%C3%BCller.pdf"`, 'Müller.pdf'],
    ['an extended name in Latin-1', "filename*=iso-8859-1''M%FCller.pdf", 'Müller.pdf'],
    ['a name in pieces', `filename*0*=UTF-8''M%C3%BC; filename*1="ller.pdf"`, 'Müller.pdf'],
    ['an encoded word in base64', 'filename="=?utf-8?B?TcO8bGxlci5wZGY=?="', 'Müller.pdf'],
    [
      'encoded words in quoted-printable',
      'filename="=?iso-8859-1?Q?M=FCller_?= =?iso-8859-1?Q?b?=.pdf"',
      'Müller b.pdf',
    ],
    ['what looks like an encoded word', 'filename="=?what?=.pdf"', '=?what?=.pdf'],
    ['an encoded word without quotes', 'filename==?utf-8?Q?M=C3=BCller.pdf?=', 'Müller.pdf'],
    ['a parameter in upper case', 'FileName="a.pdf"', 'a.pdf'],
    ['two names', 'filename="a.pdf"; filename="b.pdf"', 'a.pdf'],
  ];
  test.each(names)('keep the name of the file: %s', async (_label, parameters, filename) => {
    const id = phi('document');
    const appended = await appendedBy(service, async () => {
      expect(await send(id, { disposition: `name="file"; ${parameters}` })).toMatchObject({ status: 200 });
    });
    expect(appended).toEqual([documentLine(encounter, id)]);
    const { body } = await service.get(documentsPath(encounter));
    expect(body.items.find((item: { document_id: string }) => item.document_id === id)).toMatchObject({
      filename,
    });
  });

  test('name fields that are not stored in warnings', async () => {
    const id = phi('document');
    const long = 'x'.repeat(150);
    const more: Form['more'] = [
      [['Content-Disposition: form-data; name="encounter_id"'], phi('other')],
      [['Content-Disposition: form-data; name="__proto__"'], 'x'],
      [[`Content-Disposition: form-data; name="${utf8('größe')}"`], 'x'],
      [[`Content-Disposition: form-data; name="${long}"`], 'x'],
    ];
    const appended = await appendedBy(service, async () => {
      const { status, body } = await send(id, { more });
      const fields = ['encounter_id', '__proto__', 'größe', long.slice(0, 100)];
      const message = 'is not a known field and was not stored';
      expect({ status, warnings: body.warnings }).toEqual({
        status: 200,
        warnings: fields.map((field) => ({ field, message })),
      });
    });
    expect(appended).toEqual([documentLine(encounter, id)]);
  });

  test('get the same warnings when they are repeated', async () => {
    const id = phi('document');
    const form: Form = { more: [[['Content-Disposition: form-data; name="title"'], 'x']] };
    const appended = await appendedBy(service, async () => {
      const key = { 'idempotency-key': phi('upload') };
      const [first, second] = [await send(id, form, key), await send(id, form, key)];
      expect(second).toMatchObject({
        status: 200,
        headers: { 'idempotent-replayed': 'true' },
        body: first.body,
      });
      expect(first.body.warnings).toEqual([expect.objectContaining({ field: 'title' })]);
    });
    expect(appended).toEqual([documentLine(encounter, id)]);
  });

  const refused: [string, Form, string][] = [
    ['no boundary', { named: '' }, 'The Content-Type of the form has no valid boundary.'],
    [
      'another boundary',
      { named: 'other' },
      'The form does not contain the boundary that its Content-Type names.',
    ],
    ['no last boundary', { end: '' }, 'The form ends in part 3: its last boundary is missing.'],
    [
      'a last boundary without hyphens',
      { end: '--xyz' },
      'The form ends in part 3: its last boundary is missing.',
    ],
    ['a last boundary with a line break', { end: '--xyz\r\n' }, 'The form ends in the headers of part 4.'],
    ['no header', { more: [[[], 'x']] }, 'Part 3 has no Content-Disposition header.'],
    [
      'another header',
      { more: [[['Content-Type: text/plain'], 'x']] },
      'Part 3 has no Content-Disposition header.',
    ],
    [
      'no name',
      { more: [[['Content-Disposition: form-data'], 'x']] },
      'The Content-Disposition of part 3 has no name.',
    ],
    [
      'a file without a name',
      { more: [[['Content-Disposition: form-data; filename="a.pdf"'], 'x']] },
      'The Content-Disposition of part 3 has no name.',
    ],
    [
      'endless headers',
      { more: [[[`X: ${'x'.repeat(17_000)}`], 'x']] },
      'The headers of part 3 are longer than 16 KB.',
    ],
    [
      'many headers',
      { more: [[Array.from({ length: 3_000 }, (_, n) => `X: ${n}`), 'x']] },
      'The headers of part 3 are longer than 16 KB.',
    ],
  ];
  test.each(refused)('are refused with what is wrong: %s', async (_label, form, error) => {
    const before = storedFiles(service.config);
    const appended = await appendedBy(service, async () => {
      expect(await send(phi('document'), form)).toMatchObject({
        status: 400,
        body: { code: 'malformed_body', error },
      });
    });
    expect(appended).toEqual([]);
    await eventually(() => expect(storedFiles(service.config)).toEqual(before));
  });
});
