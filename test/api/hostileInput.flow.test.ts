import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { phi } from '../support/output.ts';
import { pathOf, paths, samples } from '../support/samples.ts';
import { changesBy, sharedService, type TestService } from '../support/service.ts';

const json = { 'content-type': 'application/json' };
const valid = JSON.stringify({ id: 'payer-hostile', name: 'Aetna' });
const bytes = (...values: number[]) => Buffer.from(values);
const quoted = (inner: Buffer) =>
  Buffer.concat([Buffer.from('{"id":"payer-hostile","name":"'), inner, Buffer.from('"}')]);
const nested = (open: string, close: string, depth: number) => open.repeat(depth) + close.repeat(depth);

/** Name, body, status, code; all are sent as application/json. */
const refused: [string, string | Buffer, number, string][] = [
  ['an empty body', '', 400, 'malformed_body'],
  ['blanks', ' \n ', 400, 'malformed_body'],
  ['no JSON', 'id=1&name=2', 400, 'malformed_body'],
  ['a truncated object', valid.slice(0, -3), 400, 'malformed_body'],
  ['two objects', valid + valid, 400, 'malformed_body'],
  ['a trailing comma', '{"id":"x","name":"y",}', 400, 'malformed_body'],
  ['single quotes', "{'id':'x','name':'y'}", 400, 'malformed_body'],
  ['NaN', '{"id":"x","name":NaN}', 400, 'malformed_body'],
  ['an array', `[${valid}]`, 400, 'validation_failed'],
  ['a string', '"payer"', 400, 'validation_failed'],
  ['null', 'null', 400, 'validation_failed'],
  ['a number', '42', 400, 'validation_failed'],
  ['true', 'true', 400, 'validation_failed'],
  ['an empty object', '{}', 400, 'validation_failed'],
  ['100,000 open brackets', '['.repeat(100_000), 413, 'payload_too_large'],
  ['100 open brackets', '['.repeat(100), 400, 'malformed_body'],
  ['100 nested arrays', nested('[', ']', 100), 400, 'validation_failed'],
  ['101 nested arrays', nested('[', ']', 101), 413, 'payload_too_large'],
  ['100,000 nested objects', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`, 413, 'payload_too_large'],
  ['deep nesting in a field', `{"id":"x","name":${nested('[', ']', 99)}}`, 400, 'validation_failed'],
  ['deep nesting beside a surrogate', `{"id":"\\ud83d\\ude00","name":${nested('[', ']', 99)}}`, 400, ''],
  ['4,999 values', `{"id":"x","name":[${'1,'.repeat(4_996)}1]}`, 400, 'validation_failed'],
  ['5,001 values', `{"id":"x","name":[${'1,'.repeat(4_998)}1]}`, 413, 'payload_too_large'],
  ['invalid UTF-8', quoted(bytes(0xff, 0xfe)), 400, 'malformed_body'],
  ['UTF-8 cut off', quoted(bytes(0xe2, 0x82)), 400, 'malformed_body'],
  ['an overlong form', quoted(bytes(0xc0, 0xaf)), 400, 'malformed_body'],
  ['a surrogate in UTF-8', quoted(bytes(0xed, 0xa0, 0x80)), 400, 'malformed_body'],
  ['UTF-16', Buffer.from(valid, 'utf16le'), 400, 'malformed_body'],
  ['a lone surrogate', '{"id":"payer-hostile","name":"\\ud800"}', 400, 'malformed_body'],
  ['a lone surrogate in an id', '{"id":"\\udc00","name":"x"}', 400, 'malformed_body'],
  ['a huge number for a string', '{"id":1e400,"name":"x"}', 400, 'validation_failed'],
  ['a number of 100,000 digits', `{"id":${'9'.repeat(100_000)},"name":"x"}`, 400, 'validation_failed'],
  ['fields of __proto__ alone', '{"__proto__":{"id":"x","name":"y"}}', 400, 'validation_failed'],
  ['a repeated key whose last value is wrong', '{"id":"x","name":"y","name":7}', 400, 'validation_failed'],
  ['NUL in an id', '{"id":"a\\u0000b","name":"x"}', 400, 'validation_failed'],
];

const refusedTypes: [Record<string, string>, string | Buffer][] = [
  [{}, valid],
  [{ 'content-type': '' }, valid],
  [{ 'content-type': 'text/plain' }, valid],
  [{ 'content-type': 'application/x-www-form-urlencoded' }, 'id=1&name=2'],
  [{ 'content-type': 'multipart/form-data; boundary=x' }, valid],
  [{ 'content-type': 'application/jsonp' }, valid],
  [{ 'content-type': 'application/json, text/plain' }, valid],
  [{ 'content-type': 'application/json; charset=iso-8859-1' }, valid],
  [{ 'content-type': 'application/json; charset=utf-16' }, Buffer.from(valid, 'utf16le')],
  [{ ...json, 'content-encoding': 'br' }, valid],
];

const acceptedTypes = [
  'application/json',
  'Application/JSON',
  'application/json; charset=utf-8',
  'application/json;charset=UTF-8',
  'application/json; charset="utf-8"',
  'application/json; charset=us-ascii',
  'application/json; charset=ASCII',
  'application/json; charset="ANSI_X3.4-1968"',
  'application/json; charset=utf8',
  'application/json; profile=any',
];

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(() => service.stop());

const send = (body: string | Buffer, headers: Record<string, string> = json) =>
  service.send(paths.payer, { method: 'POST', body, headers });

test.each(refused)('%s is refused', async (_name, body, status, code) => {
  const events = await changesBy(service, async () => {
    const answer = await send(body);
    expect({ status: answer.status, body: answer.body }).toMatchObject({
      status,
      body: { error: expect.any(String), code: code === '' ? expect.any(String) : code },
    });
    expect(answer.text.length).toBeLessThan(2_000);
  });
  expect(events).toEqual([]);
  expect((await send(JSON.stringify(samples.payer()))).status).toBe(200);
});

test.each(refusedTypes)('headers %j are refused with 415', async (headers, body) => {
  const events = await changesBy(service, async () => {
    const answer = await send(body, headers);
    expect({ status: answer.status, body: answer.body }).toMatchObject({
      status: 415,
      body: { code: 'unsupported_media_type' },
    });
  });
  expect(events).toEqual([]);
});

test.each(acceptedTypes)('Content-Type: %s is accepted', async (type) => {
  const { status } = await send(JSON.stringify(samples.payer()), { 'content-type': type });
  expect(status).toBe(200);
});

describe('what is odd but allowed is accepted, and only known fields are stored', () => {
  /** Sends a body made of a payer's and other members; gives the warnings' fields. */
  async function accepted(members: (own: string) => string): Promise<string[]> {
    const payer = samples.payer();
    let warned: string[] = [];
    const events = await changesBy(service, async () => {
      const { status, body } = await send(members(JSON.stringify(payer).slice(1, -1)));
      expect(status).toBe(200);
      warned = body.warnings.map(({ field }: { field: string }) => field);
    });
    expect(events.map(({ data }) => data)).toEqual([payer]);
    const { body } = await service.get(pathOf('payer', payer.id));
    expect(body.record).toEqual({ ...payer, country: 'US' });
    return warned;
  }

  test('__proto__, constructor and prototype', async () => {
    const warned = await accepted(
      (own) => `{${own},"__proto__":{"city":"x"},"constructor":{"prototype":{"city":"x"}},"prototype":1}`,
    );
    expect(warned).toEqual(['__proto__', 'constructor', 'prototype']);
    expect(await accepted((own) => `{${own}}`)).toEqual([]);
  });

  test('a byte order mark', async () => {
    expect(await accepted((own) => `\ufeff{${own}}`)).toEqual([]);
    expect(await accepted((own) => `\ufeff{${own}}`)).toEqual([]);
  });

  test('a repeated key: the last value counts', async () => {
    expect(await accepted((own) => `{"id":"earlier","name":7,${own}}`)).toEqual([]);
  });

  test('4,900 unknown fields: the first 20 are named', async () => {
    const many = Array.from({ length: 4_900 }, (_, index) => `"unknown_${index}":${index}`).join();
    const warned = await accepted((own) => `{${own},${many}}`);
    expect(warned).toEqual(Array.from({ length: 20 }, (_, index) => `unknown_${index}`));
  });

  test('a field name of 10,000 characters: its beginning is named', async () => {
    expect(await accepted((own) => `{${own},"${'n'.repeat(10_000)}":1}`)).toEqual(['n'.repeat(100)]);
    expect(await accepted((own) => `{${own},"${'😀'.repeat(5_000)}":1}`)).toEqual(['😀'.repeat(50)]);
    expect(await accepted((own) => `{${own},"n${'😀'.repeat(5_000)}":1}`)).toEqual([
      `n${'😀'.repeat(49)}\ufffd`,
    ]);
  });

  test('deep nesting, huge numbers and odd names in unknown fields', async () => {
    const odd = `"deep":${nested('[', ']', 99)},"signs":"${'[{,'.repeat(10_000)}\\"[","huge":1e400,"long":${'9'.repeat(10_000)},"":1,"a.b":2`;
    expect(await accepted((own) => `{${own},${odd}}`)).toEqual(['deep', 'signs', 'huge', 'long', '', 'a.b']);
    expect(await accepted((own) => `{${own},"\\ud800":1}`)).toHaveLength(1);
  });

  test('text of any Unicode without control characters comes back to the letter', async () => {
    const payer = {
      ...samples.payer(),
      city: `${phi('Omaha')}  \u00a0\u2028\ufffe\u202e😀'"\\<>&`,
    };
    const events = await changesBy(service, async () => {
      expect((await service.post(paths.payer, payer)).status).toBe(200);
    });
    expect(events.map(({ data }) => data)).toEqual([payer]);
    expect((await service.get(pathOf('payer', payer.id))).body.record.city).toBe(payer.city);
  });

  test('control characters are taken out of texts, with a warning', async () => {
    const name = phi('Aetna');
    const payer = samples.payer();
    const events = await changesBy(service, async () => {
      const { status, body } = await service.post(paths.payer, {
        ...payer,
        name: `\u0000${name}\u001b\u0085\n`,
        city: `${name}\u0000\u0001\t\n\r\u001f\u007f😀`,
      });
      const message = 'contained control characters, which were replaced with spaces';
      expect({ status, warnings: body.warnings }).toEqual({
        status: 200,
        warnings: [
          { field: 'name', message },
          { field: 'city', message },
        ],
      });
      expect((await service.post(paths.payer, { ...payer, name: '\u0000\u001b' })).status).toBe(400);
    });
    expect(events.map(({ data }) => data)).toEqual([{ ...payer, name, city: `${name} 😀` }]);
  });
});
