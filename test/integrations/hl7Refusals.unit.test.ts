import { describe, expect, test } from 'vitest';
import { hl7Fixture, hl7Message, hl7Source, mapped, pid } from './hl7Messages.ts';

describe('a message is refused', () => {
  const visit: [string, Record<number, string>] = ['PV1', { 2: 'I', 19: 'V-1' }];
  const without = (field: number) => ['PID', { ...pid[1], [field]: '' }] as [string, Record<number, string>];
  test.each([
    ['AR', '200', 'MSH^1^9', hl7Fixture('oru-r01-not-ours')],
    ['AR', '201', 'MSH^1^9', hl7Message('ADT^A99', [pid])],
    ['AR', '200', 'MSH^1^9', hl7Message('constructor^A01', [pid])],
    ['AR', '202', 'MSH^1^11', hl7Message('ADT^A01', [pid, visit], { 11: 'T' })],
    ['AR', '203', 'MSH^1^12', hl7Message('ADT^A01', [pid, visit], { 12: '3.0' })],
    ['AE', '101', 'MSH^1^10', hl7Message('ADT^A01', [pid, visit], { 10: '' })],
    ['AR', '103', 'MSH^1^18', hl7Message('ADT^A01', [pid, visit], { 18: 'KLINGON' })],
    ['AR', '102', 'MSH^1^2', hl7Message('ADT^A01', [pid, visit], { 2: '^^\\&' })],
    ['AE', '100', 'PID^1', hl7Message('ADT^A01', [visit])],
    ['AE', '101', 'PID^1^3', hl7Message('ADT^A01', [without(3), visit])],
    ['AE', '100', 'PID^1', hl7Message('ADT^A40', [pid])],
    ['AE', '100', 'PID^1', hl7Message('ADT^A40', [['MRG', { 1: '4700' }]])],
    ['AE', '101', 'MRG^1^1', hl7Message('ADT^A40', [pid, ['MRG', { 1: '987-65-4321^^^SSA^SS' }]])],
    [
      'AE',
      '101',
      'PID^1^3',
      hl7Message('ADT^A01', [['PID', { ...pid[1], 3: '987-65-4321^^^SSA^SS' }], visit]),
    ],
    ['AE', '101', 'PID^1^5^1^1', hl7Message('ADT^A01', [['PID', { ...pid[1], 5: '^Beatriz' }], visit])],
    ['AE', '101', 'PID^1^5^1^2', hl7Message('ADT^A01', [['PID', { ...pid[1], 5: 'Rivera' }], visit])],
    ['AE', '101', 'PID^1^7', hl7Message('ADT^A01', [without(7), visit])],
    ['AE', '102', 'PID^1^7', hl7Message('ADT^A01', [['PID', { ...pid[1], 7: '19840230' }], visit])],
    ['AE', '101', 'PV1^1^19', hl7Message('ADT^A03', [pid])],
    [
      'AE',
      '101',
      'IN1^2^3',
      hl7Message('ADT^A28', [pid, ['IN1', { 1: '1', 3: 'A' }], ['IN1', { 1: '2', 4: 'B' }]]),
    ],
    ['AE', '101', 'PID^1^7', hl7Message('DFT^P03', [without(7), ['IN1', { 1: '1', 3: 'A' }]])],
    [
      'AE',
      '100',
      'TXA^1',
      hl7Message('MDM^T02', [pid, visit, ['OBX', { 2: 'ED', 5: '^^PDF^Base64^JVBERi0=' }]]),
    ],
    [
      'AE',
      '102',
      'OBX^1^5^1^5',
      hl7Message('MDM^T02', [pid, visit, ['TXA', { 12: 'D' }], ['OBX', { 2: 'ED', 5: '^^PDF^Base64^%%' }]]),
    ],
  ])('%s %s %s', (refused, code, location, bytes) => {
    const said = mapped(bytes);
    expect(said).toMatchObject({ refused });
    expect(said.issues).toEqual([{ severity: 'error', code, location, text: expect.any(String) }]);
  });

  test('when it holds no document that is taken', () => {
    const text: [string, Record<number, string>] = ['OBX', { 2: 'TX', 5: 'words' }];
    expect(mapped(hl7Message('MDM^T02', [pid, visit, ['TXA', { 12: 'D' }], text]))).toMatchObject({
      refused: 'AE',
      issues: [
        { severity: 'warning', code: '103', location: 'OBX^1^5' },
        { severity: 'error', code: '101', location: 'OBX^1^5' },
      ],
    });
  });

  test('unless its source may send what is not for this service', () => {
    const source = { ...hl7Source, others: 'accept' } as const;
    const text: [string, Record<number, string>] = ['OBX', { 2: 'TX', 5: 'words' }];
    const note = mapped(hl7Message('MDM^T02', [pid, visit, ['TXA', { 12: 'D' }], text]), source);
    expect(note).toMatchObject({ operations: [], issues: [{ severity: 'warning', location: 'OBX^1^5' }] });
    for (const kind of ['ORU^R01', 'ADT^A99', 'constructor^A01']) {
      expect(mapped(hl7Message(kind, [pid]), source)).toEqual({ operations: [], issues: [] });
    }
    expect(mapped(hl7Message('ORU^R01', [pid], { 12: '3.0' }), source)).toMatchObject({ refused: 'AR' });
    expect(mapped(hl7Message('ORU^R01', [pid], { 10: '' }), source)).toMatchObject({ refused: 'AE' });
  });

  test('when it is larger than 1 MB, or not in its character set, or a line is no segment', () => {
    const message = hl7Message('ADT^A01', [pid, visit]);
    const large = mapped(`${message}\rNTE|1||${'x'.repeat(1024 * 1024)}`);
    expect(large).toMatchObject({ refused: 'AE', issues: [{ code: '104' }] });
    const foreign = mapped(Buffer.from(`${message}\rNTE|1||\xe9`, 'latin1'));
    expect(foreign).toMatchObject({ refused: 'AE', issues: [{ code: '102', location: 'MSH^1^18' }] });
    const broken = mapped(`${message}\rNTE|1||one\nline more`);
    expect(broken).toMatchObject({ refused: 'AE', issues: [{ code: '100' }] });
    expect(broken.issues[0]?.text).toContain('Line 5 ');
  });
});

test('no text of an issue holds a value', () => {
  const secret = 'Zyxwvu';
  const fields = Object.fromEntries(Array.from({ length: 50 }, (_, place) => [place + 1, secret]));
  for (const kind of ['ADT^A01', 'SIU^S12', 'DFT^P03', 'MDM^T02', secret, `ADT^${secret}`]) {
    const said = mapped(
      hl7Message(
        kind,
        ['PID', 'PV1', 'IN1', 'FT1', 'TXA', 'OBX'].map((name) => [name, fields]),
      ),
    );
    expect(said.issues.length).toBeGreaterThan(0);
    expect(JSON.stringify(said.issues)).not.toContain(secret);
  }
});
