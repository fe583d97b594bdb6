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

  test('those that a message does not name stay, or end where the source sends whole sets', () => {
    const [insured, bare] = [
      hl7Message('ADT^A08', [pid, ['IN1', { 1: '2', 3: 'b' }]]),
      hl7Message('ADT^A08', [pid]),
    ];
    const whole = { ...hl7Source, insurance_sets: 'whole' } as const;
    const had = (message: string, source = hl7Source) => {
      const { primary_insurance, secondary_insurance, tertiary_insurance } = fieldsOf(
        mapped(message, source),
        'patient',
      );
      return [primary_insurance, secondary_insurance, tertiary_insurance];
    };
    const second = { payer_id: 'b' };
    expect(had(insured)).toEqual([undefined, second, undefined]);
    expect(had(insured, whole)).toEqual([null, second, null]);
    expect(had(bare, whole)).toEqual([undefined, undefined, undefined]);
  });

  test('the policy number is IN1-36, else IN1-49, and never IN1-2', () => {
    const numberOf = (fields: Record<number, string>) => {
      const said = mapped(hl7Message('ADT^A08', [pid, ['IN1', { 1: '1', 2: 'PLAN', 3: 'a', ...fields }]]));
      return (fieldsOf(said, 'patient').primary_insurance as RecordFields).policy_number;
    };
    expect(numberOf({ 36: 'W1', 49: 'M1' })).toBe('W1');
    expect(numberOf({ 49: '987-65-4321^^^SSA^SS~M1' })).toBe('M1');
    expect(numberOf({})).toBeUndefined();
    expect(numberOf({ 36: '""', 49: 'M1' })).toBeUndefined();
  });
});

test('the visit number of the authority that the source names is taken', () => {
  const visit: [string, Record<number, string>] = ['PV1', { 2: 'O', 19: 'A^^^ONE~B^^^&2.16.1&ISO' }];
  const source = { ...hl7Source, visit_authority: '2.16.1' };
  expect(mapped(hl7Message('ADT^A03', [pid, visit]), source)).toMatchObject({
    operations: [{ kind: 'patient' }, { kind: 'encounter', fields: { id: 'B' } }],
  });
});

describe('the number of a visit', () => {
  const read = (
    kind: string,
    fields: { account?: string; visit?: string; alternate?: string },
    source = hl7Source,
  ) => {
    const { account = '', visit = '', alternate = '' } = fields;
    return mapped(
      hl7Message(kind, [
        ['PID', { ...pid[1], 18: account }],
        ['PV1', { 2: 'O', 19: visit, 50: alternate }],
      ]),
      source,
    );
  };

  test('is PV1-19, or the account number with a warning', () => {
    const said = read('ADT^A03', { account: 'A-1', visit: 'V-1' });
    expect([fieldsOf(said, 'encounter').id, said.issues]).toEqual(['V-1', []]);
    const account = read('ADT^A03', { account: 'A-1' });
    expect(fieldsOf(account, 'encounter').id).toBe('A-1');
    expect(account.issues).toMatchObject([{ severity: 'warning', code: '101', location: 'PV1^1^19' }]);
  });

  test('is where the source says, without a warning', () => {
    const from = (...visit_from: ('PV1-19' | 'PV1-50' | 'PID-18')[]) => ({ ...hl7Source, visit_from });
    const all = { account: 'A-1', visit: 'V-1', alternate: 'B-1' };
    for (const [source, sent, id] of [
      [from('PID-18', 'PV1-19'), all, 'A-1'],
      [from('PID-18', 'PV1-19'), { visit: 'V-1' }, 'V-1'],
      [from('PV1-50'), all, 'B-1'],
    ] as const) {
      const said = read('ADT^A03', sent, source);
      expect([fieldsOf(said, 'encounter').id, said.issues]).toEqual([id, []]);
    }
    expect(read('ADT^A03', { account: 'A-1' }, from('PV1-19'))).toMatchObject({
      ...{ refused: 'AE', issues: [{ code: '101', location: 'PV1^1^19' }] },
    });
    expect(read('SIU^S12', { account: 'A-1' })).toMatchObject({ operations: [] });
    expect(fieldsOf(read('SIU^S12', { account: 'A-1' }, from('PID-18')), 'encounter').id).toBe('A-1');
  });

  test.each(['ADT^A01', 'ADT^A05', 'ADT^A06', 'ADT^A08', 'BAR^P01', 'DFT^P03'])(
    'may be missing in %s, which then says something of the patient',
    (kind) => {
      expect(read(kind, {})).toMatchObject({ operations: [{ kind: 'patient', fields: { id: '4711' } }] });
    },
  );

  test.each(['ADT^A02', 'ADT^A03', 'ADT^A11', 'ADT^A13', 'ADT^A23', 'ADT^A38', 'BAR^P06', 'MDM^T11'])(
    'must not be missing in %s, which is about the visit alone',
    (kind) => {
      const said = read(kind, {});
      expect(said).toMatchObject({ refused: 'AE' });
      expect(said.issues).toContainEqual(expect.objectContaining({ code: '101', location: 'PV1^1^19' }));
    },
  );
});

test('of several names one with both parts is taken, the legal one first', () => {
  const named = (names: string) => {
    const { first_name, last_name } = fieldsOf(
      mapped(hl7Message('ADT^A28', [['PID', { ...pid[1], 5: names }]])),
      'patient',
    );
    return [first_name, last_name];
  };
  expect(named('Rivera^^^^^^L~Riviera^Bea^^^^^D')).toEqual(['Bea', 'Riviera']);
  expect(named('Riviera^Bea^^^^^D~Rivera^Beatriz^^^^^L')).toEqual(['Beatriz', 'Rivera']);
  expect(named('^Bea~Riviera~Rivera^Beatriz')).toEqual(['Beatriz', 'Rivera']);
});

test('the former id of a patient is the one with the authority of the survivor', () => {
  const message = hl7Message('ADT^A40', [
    ['PID', { 3: '999^^^NHS^NH~4711^^^HOSP^MR' }],
    ['MRG', { 1: '4700^^^HOSP^MR~998^^^NHS^NH' }],
  ]);
  expect(mapped(message, { time_zone: 'UTC' })).toMatchObject({ operations: [{ id: '998', into: '999' }] });
  const source = { time_zone: 'UTC', patient_authority: 'HOSP' };
  expect(mapped(message, source)).toMatchObject({ operations: [{ id: '4700', into: '4711' }] });
});

test('several merges in a message are each of the patient before them', () => {
  const message = hl7Message('ADT^A40', [
    ...([
      ['PID', { 3: 'a' }],
      ['MRG', { 1: 'b' }],
      ['MRG', { 1: 'c' }],
    ] as [string, Record<number, string>][]),
    ...([
      ['PID', { 3: 'd' }],
      ['MRG', { 1: 'e' }],
    ] as [string, Record<number, string>][]),
  ]);
  const merges = [
    ['b', 'a', 'MRG^1'],
    ['c', 'a', 'MRG^2'],
    ['e', 'd', 'MRG^3'],
  ];
  expect(mapped(message)).toMatchObject({ operations: merges.map(([id, into, at]) => ({ id, into, at })) });
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
