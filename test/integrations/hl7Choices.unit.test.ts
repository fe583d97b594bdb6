import { describe, expect, test } from 'vitest';
import type { RecordFields } from '../../src/domain/records/schema/kind.ts';
import { fieldsOf, hl7Message, hl7Source, mapped, pid } from './hl7Messages.ts';

describe('of insurances', () => {
  const ranks = (...segments: Record<number, string>[]) => {
    const said = mapped(
      hl7Message('ADT^A31', [pid, ...segments.map((fields) => ['IN1', fields] as [string, typeof fields])]),
    );
    const fields: RecordFields = fieldsOf(said, 'patient');
    const insurances = ['primary_insurance', 'secondary_insurance', 'tertiary_insurance'].map(
      (rank) => fields[rank] as { payer_id: string } | undefined,
    );
    return {
      ranks: insurances.map((one) => one?.payer_id),
      issues: said.issues.map(({ location }) => location),
    };
  };

  test('IN1-22 is the rank, or else IN1-1, in any order', () => {
    expect(ranks({ 1: '3', 3: 'c' }, { 1: '1', 3: 'a' }, { 1: '2', 3: 'b' }).ranks).toEqual(['a', 'b', 'c']);
    expect(ranks({ 1: '1', 3: 'a', 22: '2' }, { 1: '2', 3: 'b', 22: '1' }).ranks).toEqual([
      'b',
      'a',
      undefined,
    ]);
    expect(ranks({ 1: '2', 3: 'b' }).ranks).toEqual([undefined, 'b', undefined]);
  });

  test('one whose rank is taken, or is none, has the next', () => {
    expect(ranks({ 1: '1', 3: 'a' }, { 1: '1', 3: 'b' }, { 3: 'c' }).ranks).toEqual(['a', 'b', 'c']);
  });

  test('a fourth is left out, and said to be', () => {
    const said = ranks({ 1: '4', 3: 'd' }, { 1: '1', 3: 'a' }, { 1: '2', 3: 'b' }, { 1: '3', 3: 'c' });
    expect(said).toEqual({ ranks: ['a', 'b', 'c'], issues: ['IN1^1^1'] });
  });
});

test('the visit number of the authority that the source names is taken', () => {
  const visit: [string, Record<number, string>] = ['PV1', { 2: 'O', 19: 'A^^^ONE~B^^^&2.16.1&ISO' }];
  const source = { ...hl7Source, visit_authority: '2.16.1' };
  expect(mapped(hl7Message('ADT^A03', [pid, visit]), source)).toMatchObject({
    operations: [{ kind: 'patient' }, { kind: 'encounter', fields: { id: 'B' } }],
  });
});

test('without an identifier of the authority the first is taken, and it is said', () => {
  expect(mapped(hl7Message('ADT^A28', [pid]), { ...hl7Source, patient_authority: 'X' })).toMatchObject({
    operations: [{ fields: { id: '4711' } }],
    issues: [{ severity: 'warning', code: '204', location: 'PID^1^3' }],
  });
});

test('what is said of a patient in passing need not be whole', () => {
  const visit: [string, Record<number, string>] = ['PV1', { 2: 'O', 19: 'V-1' }];
  const born = (date: string): [string, Record<number, string>] => ['PID', { ...pid[1], 7: date }];
  for (const [kind, date] of [
    ['SIU^S12', '1984'],
    ['ADT^A03', '1984'],
    ['ADT^A11', ''],
    ['DFT^P03', '""'],
  ] as const) {
    expect(mapped(hl7Message(kind, [born(date), visit]))).toMatchObject({
      operations: [{ kind: 'encounter', fields: { id: 'V-1', patient_id: '4711' } }],
      issues: [],
    });
  }
});

test('ways to reach somebody are told by use, equipment and looks', () => {
  const reached = (home: string, work = '') => {
    const said = mapped(hl7Message('ADT^A28', [['PID', { ...pid[1], 13: home, 14: work }]]));
    const { phone, email } = fieldsOf(said, 'patient');
    return [phone, email];
  };
  expect(reached('555-0100')).toEqual(['555-0100', undefined]);
  expect(reached('^PRN^BP^^^402^5550100~^ORN^CP^^^402^5550101')).toEqual(['402 5550101', undefined]);
  expect(reached('', '^WPN^PH^^+44^20^79460000')).toEqual(['+44 20 79460000', undefined]);
  expect(reached('a@example.com^NET~^^X.400^b@example.com')).toEqual([undefined, 'a@example.com']);
  expect(reached('""', '555-0111')).toEqual(['555-0111', undefined]);
  expect(reached('""', '""')).toEqual([null, null]);
});

test('a Social Security number is read no further than its last four digits', () => {
  const last4 = (fields: Record<number, string>) =>
    fieldsOf(mapped(hl7Message('ADT^A28', [['PID', { ...pid[1], ...fields }]])), 'patient').ssn_last4;
  expect(last4({ 19: '987654320' })).toBe('4320');
  expect(last4({ 3: '4711^^^ELMST^MR~987-65-4325^^^SSA^SS' })).toBe('4325');
  expect(last4({ 19: '4321^extra' })).toBe('4321');
  expect(last4({ 19: '98765432' })).toBeUndefined();
  expect(last4({ 19: '""' })).toBeNull();
});

test('a state that is no code, nor the name of one, is left out', () => {
  const said = mapped(hl7Message('ADT^A28', [['PID', { ...pid[1], 11: '^^Toronto^Ontario^^CAN' }]]));
  expect(fieldsOf(said, 'patient')).not.toHaveProperty('state');
  expect(said.issues).toMatchObject([{ severity: 'warning', code: '103', location: 'PID^1^11' }]);
});

test('messages of training and debugging are taken where the source may send them', () => {
  for (const processingId of ['P', 'T', 'D']) {
    const message = hl7Message('ADT^A28', [pid], { 11: processingId });
    expect(mapped(message, { time_zone: 'UTC', maySendTests: true })).toMatchObject({ issues: [] });
  }
  const unknown = hl7Message('ADT^A28', [pid], { 11: 'X' });
  expect(mapped(unknown, { time_zone: 'UTC', maySendTests: true })).toMatchObject({ refused: 'AR' });
});

test('what is the name of something else in the code is a text as any other', () => {
  for (const name of ['constructor', '__proto__', 'toString']) {
    const fields = Object.fromEntries(Array.from({ length: 50 }, (_, place) => [place + 1, name]));
    const person = { ...fields, 5: `${name}^${name}`, 7: '19840229', 11: `${name}^^^${name}^^${name}` };
    const admitted = mapped(
      hl7Message('ADT^A01', [
        ['PID', person],
        ['PV1', fields],
        ['IN1', fields],
      ]),
    );
    const insurance = { payer_id: name, subscriber_relationship: 'other' };
    expect(fieldsOf(admitted, 'patient')).toMatchObject({
      id: name,
      country: name,
      primary_insurance: insurance,
    });
    expect(fieldsOf(admitted, 'patient')).not.toHaveProperty('state');
    expect(fieldsOf(admitted, 'encounter')).not.toHaveProperty('visit_type');
    const file: [string, Record<number, string>] = [
      'OBX',
      { 2: 'ED', 5: `^${name}^${name}^Base64^JVBERi0=` },
    ];
    const sent = mapped(hl7Message('MDM^T02', [pid, ['PV1', fields], ['TXA', fields], file]));
    expect(sent).toMatchObject({
      refused: 'AE',
      issues: expect.arrayContaining([expect.objectContaining({ code: '103' })]),
    });
  }
});
