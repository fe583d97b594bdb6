import { describe, expect, test } from 'vitest';
import { claimParts } from '../../src/domain/events/readinessEvents.ts';
import { catalogEntry, isUsedField } from '../../src/domain/records/catalog.ts';
import { type DocumentCategory, documentFieldsSchema } from '../../src/domain/records/document.ts';
import { isInput } from '../../src/modules/readiness/inputs.ts';
import { codeSetOf } from '../../src/modules/readiness/rules/codeSets.ts';
import { codesFor } from '../../src/modules/readiness/rules/codes.ts';
import { filingLimitNear, timelyFiling } from '../../src/modules/readiness/rules/dates.ts';
import {
  changedAfterBilling,
  documentMissing,
  duplicateOfBilled,
  suspectedDuplicate,
} from '../../src/modules/readiness/rules/encounter.ts';
import { namedBy, partsOf, sameVisitOf } from '../../src/modules/readiness/rules/facts.ts';
import { noLimits } from '../../src/modules/readiness/rules/filingLimits.ts';
import { appliesAt, findingsOf, rules } from '../../src/modules/readiness/rules/index.ts';
import { ruleCodesSchema } from '../../src/modules/readiness/rules/payerRuleData.ts';
import {
  type BilledRecord,
  type BillingFacts,
  noSettings,
  type RuleSettings,
} from '../../src/modules/readiness/rules/rule.ts';
import { worklistEntry } from '../../src/modules/readiness/worklistModel.ts';

import { billable, claimWith, factsOf, otherEncounter, recordOf } from '../support/readiness.ts';
import {
  type Changes,
  NOW,
  type RuleExamples,
  ruleExamples,
  servedOn,
  without,
} from '../support/ruleExamples.ts';

const SERVED = '2026-03-14T12:00:00.000Z';

/** As if the billable claim had been billed in its first version, and every record sent again since. */
function afterBilling(facts: BillingFacts): BillingFacts {
  const before = partsOf(factsOf(claimWith()));
  const billed = claimParts.flatMap((part) => {
    const record = before[part];
    return record ? [{ part, ...record }] : [];
  });
  const later = Object.entries(facts).map(([name, record]) => [name, { ...record, version: 2 }]);
  return { ...Object.fromEntries(later), billed };
}

/** The facts of the billable claim, changed. */
function factsWith(
  { other, payers, ...changes }: Changes,
  { isBilled, isOtherBilled }: Pick<Partial<RuleExamples>, 'isBilled' | 'isOtherBilled'>,
): BillingFacts {
  const claim = factsOf(claimWith(changes));
  const others = other === undefined ? [] : [recordOf('encounter', otherEncounter(other))];
  return {
    ...(isBilled ? afterBilling(claim) : claim),
    otherPayers: (payers ?? []).map((payer) => recordOf('payer', { id: 'z', ...payer })),
    documents: new Set(['referral'] as const),
    sameVisit: sameVisitOf(claim.encounter, [claim.encounter, ...others]),
    sameVisitBilled: new Map(isOtherBilled ? others.map(({ id }) => [id, { id: 'c2', at: SERVED }]) : []),
  };
}

/** What stands now, each as its rule, kind and field. */
function found(changes: Changes, { settings, ...billed }: Partial<RuleExamples> = {}): string[] {
  return findingsOf(factsWith(changes, billed), { ...noSettings, ...settings })
    .filter((finding) => appliesAt(finding, NOW))
    .map(({ rule, record, field }) => `${rule.code} ${record.kind}.${field}`);
}

test('what begins by itself stands from that moment, what ends by itself up to it', () => {
  const stands = (range: { from?: number; until?: number }) =>
    [1, 2, 3, 4].filter((at) => appliesAt(range, at));
  expect(stands({})).toEqual([1, 2, 3, 4]);
  expect(stands({ from: 2 })).toEqual([2, 3, 4]);
  expect(stands({ until: 3 })).toEqual([1, 2]);
  expect(stands({ from: 2, until: 4 })).toEqual([2, 3]);
});

test('in a claim that has all, nothing is found', () => {
  expect(found({})).toEqual([]);
});

test('every rule has a box of the form or a code under which a claim is refused, each bare', () => {
  for (const { code } of rules) {
    const codes = codesFor({ code });
    expect([code, ruleCodesSchema.safeParse(codes).success]).toEqual([code, true]);
    expect([code, Object.values(codes).flat().length > 0]).toEqual([code, true]);
  }
  expect(codesFor({ code: 'payer.own', codes: { status: ['164'] } })).toEqual({
    ...{ status: ['164'], carc: [], rarc: [], box: [] },
  });
});

test('in a void encounter nothing is found but what has changed since it was billed', () => {
  for (const [code, example] of Object.entries(ruleExamples)) {
    for (const [{ encounter, ...changes }] of example.finds) {
      const voided = found({ ...changes, encounter: { ...encounter, voided_at: '2026-03-15' } }, example);
      expect([code, voided.filter((one) => !one.startsWith('changed_after_billing '))]).toEqual([code, []]);
      expect(voided.includes('changed_after_billing encounter.voided_at')).toBe(example.isBilled === true);
    }
  }
});

test('who was billed in time has no filing limit ahead; another payer has, and one that was billed too late', () => {
  const filingLimits = { ...noLimits, default: 'P30D' };
  const facts = factsOf(claimWith(servedOn('2026-02-12')));
  const filing = (payer: string, day: string) => {
    const firstBilled = new Map([[payer, Date.parse(day)]]);
    return [timelyFiling, filingLimitNear].flatMap((rule) =>
      rule.check({ ...facts, firstBilled }, { ...noSettings, filingLimits }).map(() => rule.code),
    );
  };
  const both = ['timely_filing', 'filing_limit_near'];
  expect(filing('y', '2026-03-14T23:59:59.999Z')).toEqual([]);
  expect(filing('y', '2026-03-15T00:00:00.000Z')).toEqual(both);
  expect(filing('other', '2026-03-14')).toEqual(both);
});

test('once a taxonomy set is loaded, a code that only reads as one is none', () => {
  const settings = { codeSets: { nucc: codeSetOf({ codes: ['207Q00000X'] }) } };
  const finding = 'taxonomy_code provider.taxonomy_code';
  expect(found({}, { settings })).toEqual([]);
  expect(found({ provider: { taxonomy_code: '1041C0700X' } }, { settings })).toEqual([finding]);
  expect(found(without('provider', 'taxonomy_code'), { settings })).not.toContain(finding);
});

test('once the list of payers is loaded, one of a second insurance that is not in it is a warning', () => {
  const codes = [billable.payer.payer_code, '60055'];
  const settings = { codeSets: { payers: codeSetOf({ codes }) } };
  const insuredBy = (payer_code: string): Changes => ({
    patient: { secondary_insurance: { payer_id: 'z', policy_number: 'Z987654' } },
    payers: [{ payer_code, payer_type: 'Private' }],
  });
  expect(found(insuredBy('60055'), { settings })).toEqual([]);
  expect(found(insuredBy('60056'), { settings })).toEqual(['other_insurance payer.payer_code']);
});

test('of required documents those that are missing are named, and none where nobody looked', () => {
  const claim = factsOf(claimWith({ encounter: { visit_type: 'inpatient' } }));
  const requiredDocuments = new Map([['inpatient', ['referral', 'consent_form'] as const]]);
  const settings = { ...noSettings, requiredDocuments };
  const missing = (documents?: Set<DocumentCategory>) =>
    documentMissing.check({ ...claim, documents }, settings).map(({ text }) => text);
  const text = 'Documents that the visit type requires are missing';
  expect(missing(new Set())).toEqual([`${text}: referral, consent_form.`]);
  expect(missing(new Set(['referral']))).toEqual([`${text}: consent_form.`]);
  expect(missing(new Set(['referral', 'consent_form', 'lab_results']))).toEqual([]);
  expect(missing()).toEqual([]);
});

test('of many encounters of one visit five are named', () => {
  const { encounter } = factsOf(claimWith());
  const others = Array.from({ length: 8 }, (_, at) =>
    recordOf('encounter', otherEncounter({ id: `o${at}` })),
  );
  const sameVisit = sameVisitOf(encounter, others);
  const named = suspectedDuplicate.check({ encounter, sameVisit }, noSettings).map(({ record }) => record.id);
  expect(named).toEqual(['o0', 'o1', 'o2', 'o3', 'o4']);
});

test('of others of the visit those are named that were billed, each with its claim, until it is billed itself', () => {
  const { encounter } = factsOf(claimWith());
  const others = ['o1', 'o2', 'o3'].map((id) => recordOf('encounter', otherEncounter({ id })));
  const sameVisitBilled = new Map(['o1', 'o3'].map((id) => [id, { id: `claim of ${id}`, at: SERVED }]));
  const facts = { encounter, sameVisit: sameVisitOf(encounter, others), sameVisitBilled };
  const named = (more: Partial<BillingFacts>) =>
    duplicateOfBilled
      .check({ ...facts, ...more }, noSettings)
      .map(({ record, claimId }) => [record.id, claimId]);
  expect(named({})).toEqual([
    ['o1', 'claim of o1'],
    ['o3', 'claim of o3'],
  ]);
  expect(named({ claim: { id: 'c', at: SERVED } })).toEqual([]);
});

test('a change of whatever a rule looks at is one of what a claim carries, but for documents and the status', () => {
  for (const path of rules.flatMap(({ reads }) => reads)) {
    const [kind = '', field = ''] = path.split('.');
    if (kind !== 'document' && path !== 'encounter.status')
      expect([path, isUsedField(kind, field)]).toEqual([path, true]);
  }
});

/** The facts, of whose records every field that is read is noted as `kind.field`. */
function noting(facts: BillingFacts, read: Set<string>): BillingFacts {
  const noted = ({ fields, ...record }: BilledRecord): BilledRecord => ({
    ...record,
    fields: new Proxy(fields, {
      get: (target, name) => {
        if (isField(record, name)) read.add(`${record.kind}.${name}`);
        return Reflect.get(target, name);
      },
      ownKeys: (target) => {
        for (const name of Object.keys(target)) read.add(`${record.kind}.${name}`);
        return Reflect.ownKeys(target);
      },
    }),
  });
  const isField = ({ kind }: Pick<BilledRecord, 'kind'>, name: string | symbol): name is string =>
    Object.keys(catalogEntry(kind).schema.shape).includes(String(name));
  const isRecord = (value: object): value is BilledRecord => 'fields' in value && !('part' in value);
  const parts = Object.entries(facts).map(([name, part]) => [
    name,
    Array.isArray(part)
      ? part.map((one) => (one && isRecord(one) ? noted(one) : one))
      : isRecord(part)
        ? noted(part)
        : part,
  ]);
  return Object.fromEntries(parts);
}

const examples = Object.values(ruleExamples).flatMap(({ finds, passes, settings, ...billed }) =>
  [...finds.map(([changes]) => changes), ...passes].map((changes) => ({
    facts: factsWith(changes, billed),
    settings: { ...noSettings, ...settings },
  })),
);

test('no rule, and nothing else that an encounter is listed by, depends on a field that wakes nobody', () => {
  const entryWith = (facts: BillingFacts, settings: RuleSettings) =>
    JSON.stringify(worklistEntry({ facts, findings: findingsOf(facts, settings) }, NOW));
  let changes = 0;
  for (const { facts, settings } of examples) {
    const entry = entryWith(facts, settings);
    for (const [part, record] of Object.entries(facts)) {
      if (part === 'encounter' || !('fields' in record)) continue;
      for (const field of Object.keys(catalogEntry(record.kind).schema.shape)) {
        if (isInput(record.kind, field) || field === 'id') continue;
        const changed = { ...record, fields: { ...record.fields, [field]: 'changed' } };
        expect([record.kind, field, entryWith({ ...facts, [part]: changed }, settings)]).toEqual([
          record.kind,
          field,
          entry,
        ]);
        changes += 1;
      }
    }
  }
  expect(changes).toBeGreaterThan(100);
});

test('what names the records of a claim wakes the encounters that depend on it', () => {
  const { patient } = claimWith({ patient: { merged_into: 'q' } });
  const read = new Set<string>();
  const [named] = Object.values(noting({ encounter: recordOf('patient', patient) }, read));
  expect(namedBy(named as BilledRecord)).toEqual([
    ['payer', 'y'],
    ['patient', 'q'],
  ]);
  for (const path of read) {
    const [kind = '', field = ''] = path.split('.');
    expect([path, isInput(kind, field)]).toEqual([path, true]);
  }
});

/** What is at fault is no field of a record: the deadline in the answer, and the documents. */
const apartFromFields = ['encounter.filing', 'encounter.documents'];

test('every rule has examples of both sorts', () => {
  expect(Object.keys(ruleExamples)).toEqual(rules.map(({ code }) => code));
  for (const { finds, passes } of Object.values(ruleExamples)) {
    expect(finds.length).toBeGreaterThan(1);
    expect(passes.length).toBeGreaterThan(2);
  }
});

describe.each(rules)('$code', ({ code, title, source, reads, check }) => {
  const example = ruleExamples[code] as RuleExamples;
  const { finds, passes } = example;

  test.each(finds)('finds %j', (changes, ...fields) => {
    expect(found(changes, example).filter((one) => one.startsWith(`${code} `))).toEqual(
      fields.map((field) => `${code} ${field}`),
    );
  });

  test('passes what is right beside it', () => {
    for (const changes of passes) {
      expect(found(changes, example).filter((one) => one.startsWith(`${code} `))).toEqual([]);
    }
  });

  test('says what it demands, where from, and which fields it reads', () => {
    expect(title).toMatch(/^[A-Z].*[^.]$/);
    expect(source).not.toBe('');
    for (const path of reads) {
      const [kind = '', field = '', inner] = path.split('.');
      const { schema, nested } =
        kind === 'document' ? { schema: documentFieldsSchema, nested: [] } : catalogEntry(kind);
      expect(Object.keys(schema.shape)).toContain(field);
      const object = nested.find((one) => one.field === field)?.object;
      if (inner !== undefined) expect(Object.keys(object?.schema.shape ?? {})).toContain(inner);
    }
  });

  // One rule compares whole versions, and leaves out what no claim carries.
  test('reads no other field than it says', () => {
    if (code === changedAfterBilling.code) return;
    const says = new Set(reads.map((path) => path.split('.').slice(0, 2).join('.')));
    for (const { facts, settings: all } of examples) {
      const read = new Set<string>();
      check(noting(facts, read), all);
      expect([...read].filter((field) => !says.has(field))).toEqual([]);
    }
  });

  test('what it finds is in a field that it reads', () => {
    for (const [, ...fields] of finds) {
      for (const field of fields.filter((one) => !apartFromFields.includes(one)))
        expect(reads.some((one) => field.startsWith(one))).toBe(true);
    }
  });
});
