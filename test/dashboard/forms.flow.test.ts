import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Client } from '../support/client.ts';
import { appendedBy, startTestService, type TestService } from '../support/service.ts';

const FORM = 'application/x-www-form-urlencoded';

interface Sent {
  body?: string | Buffer;
  type?: string;
  encoding?: string;
}

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

test.each([
  ['of more than 100 KB', { body: `name=${'x'.repeat(200_000)}` }, 413, 'The form is larger than 100 KB, or'],
  ['in another charset', { type: `${FORM}; charset=utf-7` }, 400, 'must be URL-encoded UTF-8, and'],
  ['with an unknown encoding', { encoding: 'zip' }, 400, 'must be URL-encoded UTF-8, and'],
  ['that is compressed', { body: gzipSync('name=ada'), encoding: 'gzip' }, 400, 'and not compressed.'],
  ['of too many fields', { body: 'a=1&'.repeat(2_000) }, 413, 'or has more than 1,000 fields.'],
])('a form %s is refused, with what is wrong, and appends nothing', async (_what, sent, status, text) => {
  const { body = 'name=ada', type = FORM, encoding = 'identity' } = sent as Sent;
  const headers = { 'content-type': type, 'content-encoding': encoding };
  const appended = await appendedBy(service, async () => {
    const answer = await new Client(service.url, undefined).send('/dashboard/sign-in', {
      method: 'POST',
      headers,
      body,
    });
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(text)]);
  });
  expect(appended).toEqual([]);
});
