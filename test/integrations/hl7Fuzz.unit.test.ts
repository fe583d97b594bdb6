import fc from 'fast-check';
import { expect, test } from 'vitest';
import { acknowledge } from '../../src/modules/integrations/hl7/acknowledge.ts';
import { splitMessages } from '../../src/modules/integrations/hl7/framing.ts';
import { conditionNames, parseMessage } from '../../src/modules/integrations/hl7/parser.ts';
import { mapMessage } from '../../src/modules/integrations/hl7/triggerEvents.ts';
import { type Operation, recordOf } from '../../src/modules/integrations/operations.ts';
import { ServiceError } from '../../src/platform/errors.ts';

import { hl7Source } from './hl7Messages.ts';
import { mutatedMessages } from './hl7Mutations.ts';

const stamp = { controlId: 'ACK-1', at: new Date(0) };

/** Looks at what becomes of a body, and tells it in a word. */
function outcomeOf(body: Buffer): 'malformed' | 'refused' | 'taken' {
  let messages: Buffer[];
  try {
    messages = splitMessages(body);
  } catch (error) {
    expect(error).toBeInstanceOf(ServiceError);
    return 'malformed';
  }
  const refusals = messages.filter((bytes) => {
    const message = parseMessage(bytes);
    const said = mapMessage(message, hl7Source);
    for (const { code, severity, text } of said.issues) {
      expect(conditionNames).toHaveProperty(code);
      expect([severity === 'error' || severity === 'warning', text === '']).toEqual([true, false]);
    }
    const isRefused = 'refused' in said;
    expect(said.issues.some(({ severity }) => severity === 'error')).toBe(isRefused);
    const answer = acknowledge(message, 'refused' in said ? said.refused : 'AA', said.issues, stamp);
    expect(answer.toString('latin1')).toMatch(/^MSH[^\r]+\rMSA/);
    if (!isRefused) for (const operation of said.operations) expect(idOf(operation)).toMatch(/./s);
    return isRefused;
  });
  return refusals.length > 0 ? 'refused' : 'taken';
}

function idOf(operation: Operation): string {
  return operation.type === 'document' ? operation.documentId : recordOf(operation).id;
}

test('a message that was tampered with is taken or refused, and acknowledged', () => {
  const outcomes = new Map<string, number>();
  fc.assert(
    fc.property(mutatedMessages, (bytes) => {
      const outcome = outcomeOf(bytes);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }),
    { numRuns: 10_000 },
  );
  for (const outcome of ['malformed', 'refused', 'taken']) {
    expect([outcome, (outcomes.get(outcome) ?? 0) > 50]).toEqual([outcome, true]);
  }
});

test('so is any sequence of bytes behind a header', () => {
  const header = Buffer.from('MSH|^~\\&|A|B|C|D|20260314||ADT^A01|1|P|2.5.1\r');
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      expect(outcomeOf(Buffer.concat([header, bytes]))).not.toBe('malformed');
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  ...['~', '^', '&', '\\', '\\.sp100\\', '""~', `\rIN1|${'1'.repeat(10)}`].map((one) => [one, 'refused']),
  ['\rIN1|', 'malformed'],
])('1 MB of %j is no burden', (piece, outcome) => {
  const header = 'MSH|^~\\&|A|B|C|D|20260314||ADT^A01|1|P|2.5.1\rPID|1||';
  const count = Math.floor((1024 * 1024 - header.length) / piece.length);
  expect(outcomeOf(Buffer.from(header + piece.repeat(count)))).toBe(outcome);
});

test('a message has at most 10,000 segments, 10,000 repetitions of fields and 100,000 escape characters', () => {
  const header = 'MSH|^~\\&|A|B|C|D|20260314||ADT^A01|1|P|2.5.1';
  const refusalOf = (text: string) => parseMessage(Buffer.from(text)).refusal?.issues[0]?.text;
  const tooMany =
    'A message can have at most 10,000 segments, 10,000 repetitions of fields and 100,000 escape characters.';
  expect(refusalOf(`${header}${'\rNTE|1'.repeat(9_999)}`)).toBeUndefined();
  expect(refusalOf(`${header}${'\rNTE|1'.repeat(10_000)}`)).toBe(tooMany);
  expect(refusalOf(`${header}\rPID|1||${'1~'.repeat(9_999)}`)).toBeUndefined();
  expect(refusalOf(`${header}\rPID|1||${'1~'.repeat(10_000)}`)).toBe(tooMany);
  expect(refusalOf(`${header}\rNTE|1||${'\\.br\\'.repeat(49_999)}`)).toBeUndefined();
  expect(refusalOf(`${header}\rNTE|1||${'\\.br\\'.repeat(50_000)}`)).toBe(tooMany);
});
