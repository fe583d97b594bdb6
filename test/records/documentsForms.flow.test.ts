import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { storedFiles } from '../support/files.ts';
import { phi } from '../support/output.ts';
import {
  boundary,
  createEncounter,
  documentLine,
  documentsPath,
  formBody,
  formType,
  type Part,
  part,
  pdf,
} from '../support/samples.ts';
import { appendedBy, sharedService, type TestService } from '../support/service.ts';

describe('the form of an upload', () => {
  let service: TestService;
  let encounter: string;
  beforeAll(async () => {
    service = await sharedService();
    encounter = await createEncounter(service);
  });
  afterAll(() => service.stop());

  const send = (body: Buffer, headers: Record<string, string> = formType, id = encounter) =>
    service.send(documentsPath(id), { method: 'POST', body, headers });

  const id = () => part.field('document_id', phi('document'));
  const category = () => part.field('category', 'referral');
  const file = () => part.file(pdf());

  const orders: [string, ('id' | 'category' | 'file')[]][] = [
    ['file first', ['file', 'id', 'category']],
    ['file in the middle', ['category', 'file', 'id']],
    ['file last', ['id', 'category', 'file']],
  ];
  test.each(orders)('takes its parts in any order: %s', async (_label, order) => {
    const documentId = phi('document');
    const parts = { id: part.field('document_id', documentId), category: category(), file: file() };
    const appended = await appendedBy(service, async () => {
      expect((await send(formBody(order.map((name) => parts[name])))).status).toBe(200);
    });
    expect(appended).toEqual([documentLine(encounter, documentId)]);
  });

  test('passes over text fields that it does not know, and a preamble', async () => {
    const documentId = phi('document');
    const parts = [part.field('__proto__', 'x'), part.field('document_id', documentId), category(), file()];
    const appended = await appendedBy(service, async () => {
      const body = Buffer.concat([Buffer.from('a preamble\r\n'), formBody(parts)]);
      expect((await send(body)).status).toBe(200);
    });
    expect(appended).toEqual([documentLine(encounter, documentId)]);
  });

  const long = () => phi('long').padEnd(256, 'x');
  const missing: [string, () => Part[], { field: string; message?: string }[]][] = [
    [
      'nothing',
      () => [part.field('x', 'y')],
      ['document_id', 'category', 'file'].map((field) => ({ field })),
    ],
    ['no part', () => [], ['document_id', 'category', 'file'].map((field) => ({ field }))],
    ['no file', () => [id(), category()], [{ field: 'file', message: 'is required' }]],
    ['no document_id', () => [category(), file()], [{ field: 'document_id', message: 'is required' }]],
    ['no category', () => [id(), file()], [{ field: 'category', message: 'is required' }]],
    ['a file alone', () => [file()], [{ field: 'document_id' }, { field: 'category' }]],
    [
      'an unlisted category',
      () => [id(), part.field('category', phi('lab')), file()],
      [{ field: 'category', message: expect.stringMatching(/^must be one of radiology_report, /) as never }],
    ],
    [
      'an upper-case category',
      () => [id(), part.field('category', 'REFERRAL'), file()],
      [{ field: 'category' }],
    ],
    [
      'an empty document_id',
      () => [part.field('document_id', ''), category(), file()],
      [{ field: 'document_id' }],
    ],
    [
      'a document_id of 256 characters',
      () => [part.field('document_id', long()), category(), file()],
      [{ field: 'document_id' }],
    ],
    [
      'a document_id with a line break',
      () => [part.field('document_id', 'a\nb'), category(), file()],
      [{ field: 'document_id' }],
    ],
    ['the file as text', () => [id(), category(), part.field('file', pdf())], [{ field: 'file' }]],
    [
      'two files',
      () => [id(), category(), file(), file()],
      [{ field: 'file', message: 'must be sent once' }],
    ],
    [
      'a file of another name',
      () => [id(), category(), file(), part.file(pdf(), 'a.pdf', 'extra')],
      [{ field: 'extra' }],
    ],
    [
      'document_id twice',
      () => [id(), id(), category(), file()],
      [{ field: 'document_id', message: 'must be sent once' }],
    ],
    [
      'category twice, around the file',
      () => [category(), id(), file(), category()],
      [{ field: 'category', message: 'must be sent once' }],
    ],
    [
      'a huge text field',
      () => [id(), part.field('category', Buffer.alloc(3_000_000, 'x')), file()],
      [{ field: 'category', message: 'is too long' }],
    ],
    [
      'bytes that are not UTF-8',
      () => [part.field('document_id', Buffer.from([0xfc, 0x62])), category(), file()],
      [{ field: 'document_id' }],
    ],
    [
      'a lone surrogate, by a charset of its own',
      () => [
        [
          'Content-Disposition: form-data; name="document_id"\r\nContent-Type: text/plain; charset=utf-16le',
          Buffer.from([0x41, 0x00, 0x00, 0xd8]),
        ],
        category(),
        file(),
      ],
      [{ field: 'document_id' }],
    ],
  ];
  test.each(missing)('is refused with every wrong field named: %s', async (_label, parts, details) => {
    const before = storedFiles(service.config);
    const appended = await appendedBy(service, async () => {
      const answer = await send(formBody(parts()));
      expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
      expect(answer.body.details).toEqual(details.map((detail) => expect.objectContaining(detail)));
    });
    expect(appended).toEqual([]);
    await eventually(() => expect(storedFiles(service.config)).toEqual(before));
  });

  test('a refused value is not in the answer', async () => {
    const value = phi('secret-category');
    const answer = await send(formBody([id(), part.field('category', value), file()]));
    expect(answer.status).toBe(400);
    expect(answer.text).not.toContain(value);
  });

  const whole = () => formBody([id(), category(), file()]);
  const type = (value: string) => ({ 'content-type': value });
  const broken: [string, () => Buffer, Record<string, string>, number, string][] = [
    ['no boundary', whole, type('multipart/form-data'), 400, 'malformed_body'],
    ['an empty boundary', whole, type('multipart/form-data; boundary='), 400, 'malformed_body'],
    ['another boundary', whole, type('multipart/form-data; boundary=other'), 400, 'malformed_body'],
    ['no closing line', () => formBody([id(), category(), file()], false), formType, 400, 'malformed_body'],
    ['cut within the file', () => whole().subarray(0, -60), formType, 400, 'malformed_body'],
    [
      'cut within a second file',
      () => formBody([id(), file(), file()]).subarray(0, -60),
      formType,
      400,
      'malformed_body',
    ],
    [
      'cut within a header',
      () => Buffer.from(`--${boundary}\r\nContent-Dispo`),
      formType,
      400,
      'malformed_body',
    ],
    [
      'a header that is none',
      () => Buffer.from(`--${boundary}\r\nnot a header\r\n\r\nx`),
      formType,
      400,
      'malformed_body',
    ],
    [
      'a broken header, then a file without an end',
      () => formBody([['\rX: y', 'x'], file()], false),
      formType,
      400,
      'malformed_body',
    ],
    ['nothing at all', () => Buffer.alloc(0), formType, 400, 'malformed_body'],
    [
      '21 parts',
      () => formBody(Array.from({ length: 21 }, (_, n) => part.field(`f${n}`, 'x'))),
      formType,
      400,
      'malformed_body',
    ],
    [
      '21 parts around a file',
      () => formBody([file(), ...Array.from({ length: 20 }, id)]),
      formType,
      400,
      'malformed_body',
    ],
    ['JSON', () => Buffer.from('{}'), type('application/json'), 415, 'unsupported_media_type'],
    ['the bare file', () => pdf(), type('application/pdf'), 415, 'unsupported_media_type'],
    [
      'a URL-encoded form',
      () => Buffer.from('a=b'),
      type('application/x-www-form-urlencoded'),
      415,
      'unsupported_media_type',
    ],
    ['no content type', whole, {}, 415, 'unsupported_media_type'],
    ['a compressed body', whole, { ...formType, 'content-encoding': 'gzip' }, 415, 'unsupported_media_type'],
  ];
  test.each(broken)('is refused whole: %s', async (_label, body, headers, status, code) => {
    const before = storedFiles(service.config);
    const appended = await appendedBy(service, async () => {
      const answer = await send(body(), headers);
      expect(answer).toMatchObject({ status, body: { error: expect.any(String), code } });
    });
    expect(appended).toEqual([]);
    await eventually(() => expect(storedFiles(service.config)).toEqual(before));
  });

  test('twenty parts are taken', async () => {
    const more = Array.from({ length: 17 }, (_, n) => part.field(`f${n}`, 'x'));
    expect((await send(formBody([...more, id(), category(), file()]))).status).toBe(200);
  });

  test.each([
    ['line breaks, encoded', `filename="a%0d%0aX-Evil: 1;'.pdf"`, 'a%0D%0AX-Evil%3A%201%3B%27.pdf'],
    ['no Unicode', "filename*=utf-16le''%00%d8.%00p%00d%00f%00", '%EF%BF%BD.pdf'],
  ])('a filename comes back as one header: %s', async (_label, filename, shown) => {
    const documentId = phi('document');
    const named: Part = [`Content-Disposition: form-data; name="file"; ${filename}`, pdf()];
    const appended = await appendedBy(service, async () => {
      const body = formBody([part.field('document_id', documentId), category(), named]);
      expect((await send(body)).status).toBe(200);
    });
    expect(appended).toEqual([documentLine(encounter, documentId)]);
    const download = await service.get(documentsPath(encounter, documentId));
    expect(download).toMatchObject({ status: 200, text: pdf().toString() });
    expect(download.headers['content-disposition']).toBe(`attachment; filename*=UTF-8''${shown}`);
  });
});
