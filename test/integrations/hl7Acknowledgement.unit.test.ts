import { expect, test } from 'vitest';
import { acknowledge, acknowledgements } from '../../src/modules/integrations/hl7/acknowledge.ts';
import { type Hl7Issue, parseMessage } from '../../src/modules/integrations/hl7/parser.ts';

import { hl7Fixture, hl7Message, mapped, pid } from './hl7Messages.ts';

const stamp = { controlId: 'ACK-1', at: new Date('2026-03-14T14:30:20.500Z') };
const error: Hl7Issue = {
  severity: 'error',
  code: '101',
  location: 'PID^1^5^1^2',
  text: 'Send the given name.',
};
const warning: Hl7Issue = {
  severity: 'warning',
  code: '103',
  location: 'PV1^1^2',
  text: 'Is left out: a | or ^.',
};

test('goes back to where the message came from', () => {
  const message = parseMessage(hl7Fixture('adt-a01-admission'));
  expect(acknowledge(message, 'AA', [], stamp).toString()).toBe(
    'MSH|^~\\&|CHARTLEDGER|BILLING|ADT1|ELMST|20260314143020+0000||ACK^A01^ACK|ACK-1|P|2.5.1\rMSA|AA|MSG00001\r',
  );
});

test('tells what is wrong, and what was not taken', () => {
  const message = parseMessage(hl7Fixture('adt-a01-admission'));
  const segments = acknowledge(message, 'AE', [warning, error], stamp).toString().split('\r');
  expect(segments.slice(1)).toEqual([
    'MSA|AE|MSG00001|Send the given name.',
    'ERR||PV1^1^2|103^Table value not found^HL70357|W||||Is left out: a \\F\\ or \\S\\.',
    'ERR||PID^1^5^1^2|101^Required field missing^HL70357|E||||Send the given name.',
    '',
  ]);
});

/** The codes with which a result is acknowledged, by MSH-15 and MSH-16. */
function codesOf(code: 'AA' | 'AE' | 'AR', isCommitted: boolean, accept: string, application: string) {
  const message = parseMessage(Buffer.from(hl7Message('ADT^A28', [pid], { 15: accept, 16: application })));
  const issues = code === 'AA' ? [] : [error];
  return acknowledgements(message, { code, issues, isCommitted }, () => stamp).map(
    (one) => /\rMSA\|(\w\w)\|C-1/.exec(one.toString())?.[1],
  );
}

test.each([
  ['AA', true, '', '', ['AA']],
  ['AE', false, '', '', ['AE']],
  ['AA', true, 'AL', 'AL', ['CA', 'AA']],
  ['AE', true, 'AL', 'AL', ['CA', 'AE']],
  ['AA', true, 'AL', 'NE', ['CA']],
  ['AE', true, 'AL', '', ['CA']],
  ['AA', true, 'NE', 'AL', ['AA']],
  ['AA', true, '', 'ER', []],
  ['AE', true, 'ER', 'ER', ['AE']],
  ['AA', true, 'SU', 'SU', ['CA', 'AA']],
  ['AE', true, 'SU', 'SU', ['CA']],
  ['AE', false, 'AL', 'AL', ['CE']],
  ['AR', false, 'ER', 'AL', ['CR']],
  ['AR', false, 'NE', 'AL', ['AR']],
  ['AE', false, 'SU', 'ER', ['AE']],
  ['AR', false, 'SU', 'SU', []],
] as const)(
  '%s (stored: %s) with MSH-15 "%s" and MSH-16 "%s" is acknowledged by %j',
  (code, isCommitted, accept, application, codes) => {
    expect(codesOf(code, isCommitted, accept, application)).toEqual(codes);
  },
);

test('before v2.5 has one ERR, which knows no warnings', () => {
  const message = parseMessage(hl7Fixture('adt-a13-discharge-cancelled'));
  const [, , ...errors] = acknowledge(message, 'AE', [warning, error, { ...error, code: '102' }], stamp)
    .toString()
    .split('\r');
  expect(errors).toEqual([
    'ERR|PID^1^5^101&Required field missing&HL70357~PID^1^5^102&Data type error&HL70357',
    '',
  ]);
  expect(acknowledge(message, 'AA', [warning], stamp).toString()).not.toContain('ERR');
});

test('has the delimiters and the character set of the message', () => {
  const delimited = parseMessage(hl7Fixture('adt-a04-other-delimiters'));
  expect(acknowledge(delimited, 'AE', [error], stamp).toString().split('\r')).toEqual([
    'MSH#*!?%#CHARTLEDGER#BILLING#CLINIC?T?LAB#ELMST#20260314143020+0000##ACK*A04*ACK#ACK-1#P#2.5.1',
    'MSA#AE#MSG00003#Send the given name.',
    'ERR##PID*1*5*1*2#101*Required field missing*HL70357#E####Send the given name.',
    '',
  ]);
  const text = hl7Message('ADT^A28', [pid], { 4: 'Zürich', 10: 'Ü-1', 18: '8859/1' });
  const answer = acknowledge(parseMessage(Buffer.from(text, 'latin1')), 'AA', [], stamp);
  expect(answer.toString('latin1').split('\r').slice(0, 2)).toEqual([
    'MSH|^~\\&||||Zürich|20260314143020+0000||ACK^A28|ACK-1|P|2.5.1||||||8859/1',
    'MSA|AA|Ü-1',
  ]);
});

test('answers what cannot be read by as much of its header as there is', () => {
  const unknown = Buffer.from(hl7Message('ADT^A28', [pid], { 4: 'Zürich', 18: 'KLINGON' }), 'latin1');
  const [header, answer] = acknowledge(parseMessage(unknown), 'AR', mapped(unknown).issues, stamp)
    .toString('latin1')
    .split('\r');
  expect(header).toBe('MSH|^~\\&||||Zürich|20260314143020+0000||ACK^A28|ACK-1|P|2.5.1||||||KLINGON');
  expect(answer).toMatch(/^MSA\|AR\|C-1\|Send UNICODE UTF-8/);
  const bare = Buffer.from('MSH');
  expect(acknowledge(parseMessage(bare), 'AR', mapped(bare).issues, stamp).toString()).toMatch(
    /^MSH\|\^~\\&\|{5}20260314143020\+0000\|\|ACK\|ACK-1\|P\|2\.5\.1\rMSA\|AR\|\|MSH-1 and MSH-2 [^\r]+\rERR\|\|MSH\^1\^2\|102/,
  );
});

test.each([
  ['AA', 'AL', ['S^Successful^HL70181', 'S^Successful^HL70181']],
  ['AE', 'AL', ['U^Unsuccessful^HL70181', 'U^Unsuccessful^HL70181']],
  ['AA', 'NE', []],
  ['AA', 'ER', []],
  ['AE', 'ER', ['U^Unsuccessful^HL70181', 'U^Unsuccessful^HL70181']],
  ['AA', '', ['S^Successful^HL70181', 'S^Successful^HL70181']],
] as const)(
  'a master file is acknowledged (%s) entry by entry, where MFI-6 says so (%s)',
  (code, level, outcomes) => {
    const entries = ['D-9', 'D-10'].flatMap((key, at): [string, Record<number, string>][] => [
      ['MFE', { 1: 'MUP', 2: `N-${at}`, 4: key, 5: 'CE' }],
      ['STF', { 1: key, 3: 'Osei^Kofi' }],
    ]);
    const notice: [string, Record<number, string>] = ['MFI', { 1: 'PRA', 3: 'UPD', 6: level }];
    const message = parseMessage(Buffer.from(hl7Message('MFN^M02^MFN_M02', [notice, ...entries])));
    const [header = '', ...others] = acknowledge(message, code, [], stamp)
      .toString()
      .split('\r')
      .slice(0, -1);
    expect(header.split('|')[8]).toBe('MFK^M02^MFK_M01');
    expect(others).toEqual([
      expect.stringMatching(/^MSA\|A[AE]\|C-1/),
      `MFI|PRA||UPD|||${level}`,
      ...outcomes.map(
        (outcome, at) => `MFA|MUP|N-${at}|20260314143020+0000|${outcome}|${['D-9', 'D-10'][at]}|CE`,
      ),
    ]);
    const [committed] = acknowledgements(message, { code, issues: [], isCommitted: true }, () => stamp);
    expect(committed?.toString()).toContain('MFK^M02');
    expect(acknowledge(message, 'CA', [], stamp).toString()).toMatch(/\|ACK\^M02\^ACK\|.*\rMSA\|CA\|C-1\r$/);
  },
);
