import { afterAll, beforeAll, expect, test } from 'vitest';
import { answerOf, postLines, sendBatch } from '../support/client.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, sharedService, type TestService } from '../support/service.ts';

onEmbeddedEngines(() => {
  let service: TestService;
  beforeAll(async () => {
    service = await sharedService();
  });
  afterAll(() => service.stop());

  const payer = { id: 'payer-of-lines', name: 'Aetna' };
  test.each<[string, unknown, object]>([
    ['an array', [], { error: 'A line must be an object with a kind and a record.' }],
    ['null', null, { error: 'A line must be an object with a kind and a record.' }],
    ['nothing in it', {}, { details: [{ field: 'kind' }, { field: 'record' }], kind: null, id: null }],
    ['an unknown kind', { kind: 'claim', record: payer }, { details: [{ field: 'kind' }], id: payer.id }],
    ['no kind', { record: payer }, { details: [{ field: 'kind', message: 'is required' }], id: payer.id }],
    ['no record', { kind: 'payer' }, { details: [{ field: 'record' }], kind: 'payer', id: null }],
    ['a text as its record', { kind: 'payer', record: 'x' }, { details: [{ field: 'record' }] }],
    [
      'a member that is not known',
      { kind: 'payer', record: payer, ifMatch: 1 },
      {
        details: [
          { field: 'ifMatch', message: 'is not a known field; a line can have kind, record, if_match' },
        ],
      },
    ],
    ['if_match 0', { kind: 'payer', record: payer, if_match: 0 }, { details: [{ field: 'if_match' }] }],
    [
      'if_match as a tag',
      { kind: 'payer', record: payer, if_match: '"1"' },
      { details: [{ field: 'if_match' }] },
    ],
  ])('a line that is or has %s is refused', async (_name, sent, refusal) => {
    const appended = await appendedBy(service, async () => {
      const { results } = await sendBatch(service, [sent as object]);
      expect(results).toMatchObject([{ line: 1, status: 400, code: 'validation_failed', ...refusal }]);
    });
    expect(appended).toEqual([]);
  });

  test('a line of two kinds is refused, wherever the kind stands', async () => {
    const text = JSON.stringify(payer);
    const appended = await appendedBy(service, async () => {
      const { results } = await sendBatch(service, [
        `{"kind":"payer","record":${text},"kind":"patient"}`,
        `{"record":${text},"kind":"payer"}`,
      ]);
      expect(results).toMatchObject([
        { status: 400, details: [{ field: 'kind', message: 'must be sent once' }] },
        { status: 200, kind: 'payer', id: payer.id },
      ]);
    });
    expect(appended).toHaveLength(1);
  });

  test('lines that are no UTF-8 or hold half a character are refused; blank lines are passed over', async () => {
    const good = samples.payer();
    const body = Buffer.concat([
      Buffer.from('\ufeff\n \t\r\n'),
      Buffer.from(`${JSON.stringify({ kind: 'payer', record: good })}\r\n\n`),
      Buffer.from([0x7b, 0xff, 0x7d, 0x0a]),
      Buffer.from('{"kind":"payer","record":{"id":"half-\\ud800","name":"A"}}'),
    ]);
    const appended = await appendedBy(service, async () => {
      const { results } = answerOf(await postLines(service, body));
      expect(results).toMatchObject([
        { line: 3, status: 200 },
        { line: 5, status: 400, error: 'The line is not valid UTF-8.' },
        { line: 6, status: 400, error: 'The line contains a lone surrogate, which is not valid Unicode.' },
      ]);
    });
    expect(appended).toEqual([`clinic.payer-${good.id}: PayerUpserted`]);
  });
});
