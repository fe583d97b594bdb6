import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { storedFiles } from '../support/files.ts';
import { phi } from '../support/output.ts';
import {
  createEncounter,
  type DocxOptions,
  documentForm,
  documentLine,
  documentsPath,
  docx,
  pdf,
  zip,
} from '../support/samples.ts';
import { appendedBy, sharedService, type TestService } from '../support/service.ts';

describe('PDF and DOCX are told by name and by content', () => {
  let service: TestService;
  let encounter: string;
  beforeAll(async () => {
    service = await sharedService();
    encounter = await createEncounter(service);
  });
  afterAll(() => service.stop());

  const upload = (filename: string, content: Buffer, document_id = phi('document')) =>
    service.upload(documentsPath(encounter), documentForm({ filename, content, document_id }));

  const junk = (length: number) => Buffer.alloc(length, 'junk\n');
  const picture: [string, Buffer] = ['word/media/scan.png', Buffer.alloc(700_000, 7)];
  const thumbnail: [string, Buffer] = ['docProps/thumbnail.jpeg', Buffer.alloc(100_000, 7)];
  const foreign: [string, Buffer] = ['customXml/item1.xml', Buffer.alloc(700_000, 'x')];
  const layouts: [string, DocxOptions][] = [];
  for (const contentTypes of ['first', 'last'] as const) {
    for (const deflate of [false, true]) {
      for (const streamed of [false, true]) {
        for (const more of [[], [picture], [thumbnail], [foreign]]) {
          const label = `types ${contentTypes}, ${deflate ? 'deflated' : 'stored'}${streamed ? ', streamed' : ''}`;
          layouts.push([
            `${label}, ${more[0]?.[0] ?? 'text alone'}`,
            { contentTypes, deflate, streamed, more },
          ]);
        }
      }
    }
  }

  const accepted: [string, string, Buffer][] = [
    ['a PDF', 'report.pdf', pdf()],
    ['an upper-case extension', 'REPORT.PDF', pdf()],
    ['a mixed-case extension', 'Report.DocX', docx()],
    ['a name of 255 characters', `${'ü'.repeat(251)}.pdf`, pdf()],
    ['a name with dots', 'a.docx.pdf', pdf()],
    ['a name with a folder', 'C:\\scans\\report.pdf', pdf()],
    ['a PDF after a few bytes of junk', 'report.pdf', Buffer.concat([junk(3), pdf()])],
    ['a PDF that begins at byte 1,024', 'report.pdf', Buffer.concat([junk(1024), pdf()])],
    ...layouts.map(([label, options]): [string, string, Buffer] => [
      `DOCX: ${label}`,
      'a.docx',
      docx(options),
    ]),
  ];
  test.each(accepted)('takes %s', async (_label, filename, content) => {
    const id = phi('document');
    const appended = await appendedBy(service, async () => {
      expect(await upload(filename, content, id)).toMatchObject({ status: 200 });
    });
    expect(appended).toEqual([documentLine(encounter, id)]);
    expect((await service.get(documentsPath(encounter, id))).bytes.equals(content)).toBe(true);
  });

  const plainZip = zip([['notes.txt', 'hello']]);
  const spreadsheet = zip([
    ['[Content_Types].xml', '<Types/>'],
    ['xl/workbook.xml', '<workbook/>'],
  ]);
  const damaged = docx({ deflate: true }).fill(0xff, 49, 60);
  const refused: [string, string, Buffer][] = [
    ['DOCX bytes named .pdf', 'report.pdf', docx()],
    ['PDF bytes named .docx', 'report.docx', pdf()],
    ['a plain ZIP named .docx', 'report.docx', plainZip],
    ['a spreadsheet named .docx', 'report.docx', spreadsheet],
    ['a damaged DOCX', 'report.docx', damaged],
    ['a plain ZIP named .pdf', 'report.pdf', plainZip],
    ['text named .pdf', 'report.pdf', Buffer.from('hello')],
    ['a text file', 'report.txt', Buffer.from('hello')],
    ['a PDF named .txt', 'report.txt', pdf()],
    ['a PDF without an extension', 'report', pdf()],
    ['a PDF named .pdf.exe', 'report.pdf.exe', pdf()],
    ['a PDF that begins beyond byte 1,024', 'report.pdf', Buffer.concat([junk(1025), pdf()])],
    ['an empty file named .pdf', 'report.pdf', Buffer.alloc(0)],
    ['an empty file named .docx', 'report.docx', Buffer.alloc(0)],
    ['the first bytes of a ZIP alone', 'report.docx', Buffer.from('PK\x03\x04')],
    ['an old Word file', 'report.doc', Buffer.from('d0cf11e0a1b11ae1', 'hex')],
  ];
  test('refuses a name of 256 characters and keeps nothing', async () => {
    const before = storedFiles(service.config);
    const appended = await appendedBy(service, async () => {
      const { status, body } = await upload(`${'ü'.repeat(252)}.pdf`, pdf());
      const details = [{ field: 'file', message: 'must have a name of at most 255 characters' }];
      expect({ status, body }).toMatchObject({ status: 400, body: { details } });
    });
    expect(appended).toEqual([]);
    await eventually(() => expect(storedFiles(service.config)).toEqual(before));
  });

  test.each(refused)('refuses %s and keeps nothing', async (_label, filename, content) => {
    const before = storedFiles(service.config);
    const appended = await appendedBy(service, async () => {
      expect(await upload(filename, content)).toMatchObject({
        status: 400,
        body: {
          code: 'validation_failed',
          details: [{ field: 'file', message: expect.stringContaining('PDF (.pdf) or DOCX (.docx)') }],
        },
      });
    });
    expect(appended).toEqual([]);
    await eventually(() => expect(storedFiles(service.config)).toEqual(before));
  });
});
