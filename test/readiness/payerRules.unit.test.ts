import { describe, expect, test } from 'vitest';
import { isInput } from '../../src/modules/readiness/inputs.ts';
import { appliesAt, findingsOf } from '../../src/modules/readiness/rules/index.ts';
import {
  claimFields,
  expressionOf,
  type PayerRule,
  payerRuleSchema,
} from '../../src/modules/readiness/rules/payerRuleData.ts';
import {
  noSettings,
  type ReadinessRuleSet,
  type RuleSettings,
} from '../../src/modules/readiness/rules/rule.ts';
import { claimWith, type Fields, factsOf } from '../support/readiness.ts';
import { type Changes, NOW, payerRuleExamples } from '../support/ruleExamples.ts';

type Must = PayerRule['must'];

const MEMBER_ID = 'patient.primary_insurance.policy_number';
const SERVICE = 'encounter.date_of_service';
const member = (policy_number: unknown): Changes => insured({ policy_number });
const insured = (fields: Fields): Changes => ({
  patient: { primary_insurance: { ...(claimWith().patient.primary_insurance as Fields), ...fields } },
});

function found(changes: Changes, settings: Partial<RuleSettings>): string[] {
  return findingsOf(factsOf(claimWith(changes)), { ...noSettings, ...settings })
    .filter((finding) => appliesAt(finding, NOW))
    .map(({ rule, severity, record, field }) => `${rule.code} ${severity} ${record.kind}.${field}`);
}

const rule = (field: string, must: Must, more: Partial<PayerRule> = {}): PayerRule =>
  payerRuleSchema.parse({ field, must, severity: 'blocks', text: 'To be put right.', ...more });

/** Whether a rule finds its field, and nothing else does. */
function finds(changes: Changes, one: PayerRule): boolean {
  const own = found(changes, { payerRules: new Map([['own', one]]) }).filter((text) =>
    text.startsWith('payer.own '),
  );
  expect(own.length).toBeLessThan(2);
  return own.length > 0;
}

describe('what a value has to be', () => {
  test.each<[string, Must, Changes[], Changes[]]>([
    [
      MEMBER_ID,
      { pattern: 'W\\d{9}|W\\d{11}' },
      [member('W12345678'), member('X123456789'), member('W1234567890'), member('AW123456789')],
      [member('W123456789'), member('W12345678901'), member(undefined)],
    ],
    [
      MEMBER_ID,
      { pattern: '[A-Z]{3}[A-Z0-9\\-]{2,9}' },
      [member('ABC1'), member('AB12345'), member('ABC1234567890')],
      [member('ABC12'), member('ABC-12345'), member('ABC123456789')],
    ],
    [
      'patient.primary_insurance.group_number',
      { present: true },
      [insured({ group_number: undefined }), insured({ group_number: ' ' }), insured({ group_number: null })],
      [insured({ group_number: '7' })],
    ],
    [
      'patient.primary_insurance.group_number',
      { present: false },
      [insured({ group_number: '7' })],
      [insured({ group_number: undefined }), insured({ group_number: ' ' })],
    ],
    [
      'encounter.visit_type',
      { one_of: ['office_visit', 'telehealth'] },
      [{ encounter: { visit_type: 'inpatient' } }],
      [{ encounter: { visit_type: 'telehealth' } }, { encounter: { visit_type: undefined } }],
    ],
    [
      'patient.state',
      { one_of: ['ne', 'IA'] },
      [{ patient: { state: 'CO' } }],
      [{ patient: { state: 'NE' } }, { patient: { state: 'ia' } }],
    ],
    [
      'rendering_provider.last_name',
      { same_as: 'provider.last_name' },
      [],
      [{}, { provider: { last_name: 'nguyen' } }],
    ],
    [
      'patient.primary_insurance.subscriber_last_name',
      { same_as: 'patient.last_name' },
      [insured({ subscriber_last_name: 'Someone' })],
      [insured({ subscriber_last_name: 'LOPEZ' }), insured({ subscriber_last_name: undefined })],
    ],
    [
      'patient.primary_insurance.effective_date',
      { before: SERVICE },
      [
        {
          ...insured({ effective_date: '2026-03-14' }),
          encounter: { date_of_service: '2026-03-14T09:00:00Z' },
        },
      ],
      [
        {
          ...insured({ effective_date: '2026-03-13T23:00:00Z' }),
          encounter: { date_of_service: '2026-03-14' },
        },
        { ...insured({ effective_date: '2026-03-14' }), encounter: { date_of_service: undefined } },
      ],
    ],
    [
      SERVICE,
      { before: '2026-03-01' },
      [{ encounter: { date_of_service: '2026-03-01' } }],
      [{ encounter: { date_of_service: '2026-02-28T23:59:59Z' } }],
    ],
  ])('%s: %j', (field, must, faulty, right) => {
    for (const changes of faulty)
      expect([changes, finds(changes, rule(field, must))]).toEqual([changes, true]);
    for (const changes of right)
      expect([changes, finds(changes, rule(field, must))]).toEqual([changes, false]);
  });

  test('the day of service is that of the workspace, and what is repaired is found as repaired', () => {
    const late = { encounter: { date_of_service: '2026-03-01T03:00:00Z' } };
    const payerRules = new Map([['own', rule(SERVICE, { before: '2026-03-01' })]]);
    expect(found(late, { payerRules })).toContain(`payer.own blocks ${SERVICE}`);
    expect(found(late, { payerRules, timeZone: 'America/Chicago' })).toEqual([]);
    expect(finds({ patient: { state: 'Nebraska' } }, rule('patient.state', { pattern: 'NE' }))).toBe(false);
  });
});

describe.each(Object.entries(payerRuleExamples))(
  '%s, as a payer states it',
  (id, { rule: one, ...examples }) => {
    const fieldsOf = (changes: Changes) =>
      found(changes, { payerRules: new Map([[id, payerRuleSchema.parse(one)]]) })
        .filter((text) => text.startsWith(`payer.${id} `))
        .map((text) => text.split(' ').at(-1));

    test.each(examples.finds)('finds %j', (changes, ...fields) => {
      expect(fieldsOf(changes)).toEqual(fields);
    });

    test.each(examples.passes.map((changes) => [changes]))('passes %j', (changes) => {
      expect(fieldsOf(changes)).toEqual([]);
    });
  },
);

describe('for which claims a rule holds', () => {
  const short = member('W1');
  const must = { pattern: 'W\\d{9}' };
  test.each<[PayerRule['payer'], boolean]>([
    [undefined, true],
    [{ id: 'y' }, true],
    [{ id: 'z' }, false],
    [{ code: '60054' }, true],
    [{ code: '60055' }, false],
    [{ type: 'PRIVATE' }, true],
    [{ type: 'Medicare' }, false],
    [{ id: 'y', type: 'Medicare' }, false],
  ])('of the payer %j: %s', (payer, isFound) => {
    expect(finds(short, rule(MEMBER_ID, must, { payer }))).toBe(isFound);
  });

  test('those where all conditions are met; one without a value meets only that there is none', () => {
    const telehealth = { field: 'encounter.visit_type', must: { one_of: ['telehealth'] } };
    const grouped = { field: 'patient.primary_insurance.group_number', must: { present: false } };
    const visit = (visit_type: unknown) => ({ ...short, encounter: { visit_type } });
    const isFound = (changes: Changes, ...when: NonNullable<PayerRule['when']>) =>
      finds(changes, rule(MEMBER_ID, must, { when }));
    expect(isFound(visit('telehealth'), telehealth)).toBe(true);
    expect(isFound(visit('inpatient'), telehealth)).toBe(false);
    expect(isFound(visit(undefined), telehealth)).toBe(false);
    expect(isFound(visit('telehealth'), telehealth, grouped)).toBe(true);
    expect(
      isFound(
        { ...insured({ policy_number: 'W1', group_number: '7' }), encounter: { visit_type: 'telehealth' } },
        telehealth,
        grouped,
      ),
    ).toBe(false);
  });

  test('none in a void encounter', () => {
    expect(finds({ ...short, encounter: { voided_at: '2026-03-15' } }, rule(MEMBER_ID, must))).toBe(false);
  });
});

describe('the severity of a rule for some payers', () => {
  const choice = (choice: ReadinessRuleSet['choice'], payers: object): [string, ReadinessRuleSet] => {
    const { payer_id = null, payer_type = null } = payers as Record<string, string>;
    return [
      JSON.stringify(['gender_missing', payer_id, payer_type]),
      { rule: 'gender_missing', choice, ...payers },
    ];
  };
  const noGender = { patient: { gender: undefined } };
  test.each<[string[], ...[string, ReadinessRuleSet][]]>([
    [['warns']],
    [['blocks'], choice('blocks', { payer_id: 'y' })],
    [['warns'], choice('blocks', { payer_id: 'z' })],
    [['blocks'], choice('blocks', { payer_type: 'private' })],
    [['warns'], choice('blocks', { payer_type: 'medicare' })],
    [[], choice('blocks', { payer_type: 'private' }), choice('off', { payer_id: 'y' })],
  ])('is %j', (severities, ...choices) => {
    const payerChoices = new Map(choices);
    expect(found(noGender, { payerChoices })).toEqual(
      severities.map((severity) => `gender_missing ${severity} patient.gender`),
    );
  });
});

test('every field that a rule can name is one whose change evaluates encounters again', () => {
  for (const [path, { part, field }] of claimFields) {
    const kind = part === 'rendering_provider' ? 'provider' : part;
    expect([path, isInput(kind, field.split('.')[0] as string)]).toEqual([path, true]);
  }
  for (const path of [
    'patient.phone',
    'patient.id',
    'encounter.status',
    'provider.email',
    'patient.primary_insurance',
  ])
    expect([path, claimFields.has(path)]).toEqual([path, false]);
});

describe('a pattern', () => {
  test.each([
    ...[
      '(a|a)*b',
      'a*',
      'a+',
      '(ab)',
      'a{3,}',
      '\\p{L}',
      '(?=a)b',
      '.',
      '^a$',
      '',
      '[',
      'a|',
      '[z-a]',
      'a{3,1}',
      '\\1',
    ],
    ...['a{1,9}b{1,9}c?', 'a'.repeat(201), 'a{1,100}'],
  ])('%j is none that is allowed', (pattern) => {
    expect(expressionOf(pattern)).toBeUndefined();
  });

  test.each([
    'W\\d{9}',
    '[A-Za-z0-9]{2,80}',
    'R\\d{8}|H[0-9]{8}',
    '[^\\d]{3}\\d{6,9}[A-Z]?',
    'A-1/2 b_c',
    '\\(\\d\\)\\.',
  ])('%j is one', (pattern) => {
    expect(expressionOf(pattern)).toBeInstanceOf(RegExp);
  });
});

test.each<[object, string]>([
  [{ field: 'patient.phone' }, 'field'],
  [{ field: 'patient.gender', must: { one_of: ['female', 'woman'] } }, 'must.one_of'],
  [{ field: 'patient.city', must: { before: '2026-01-01' } }, 'must.before'],
  [{ field: SERVICE, must: { before: 'patient.city' } }, 'must.before'],
  [{ field: SERVICE, must: { same_as: 'patient.city' } }, 'must.same_as'],
  [{ must: { pattern: '(a+)+' } }, 'must.pattern'],
  [{ must: {} }, 'must'],
  [{ must: { present: true, pattern: 'a' } }, 'must'],
  [{ when: [{ field: 'nowhere', must: { present: true } }] }, 'when.0.field'],
  [{ payer: { name: 'Aetna' } }, 'payer'],
  [{ severity: 'off' }, 'severity'],
  [{ codes: { status: ['No such member'] } }, 'codes.status.0'],
])('of a rule with %j the fault is named', (changes, path) => {
  const given = { field: MEMBER_ID, must: { present: true }, severity: 'warns', text: 'a', ...changes };
  const paths = payerRuleSchema.safeParse(given).error?.issues.map((issue) => issue.path.join('.'));
  expect(paths).toContain(path);
});
