import { describe, expect, test } from 'vitest';
import { catalog, catalogEntry } from '../../src/domain/records/catalog.ts';
import { foundByOf, identifier, requiredName } from '../../src/domain/records/schema/fields.ts';
import { type CatalogEntry, defineKind } from '../../src/domain/records/schema/kind.ts';
import {
  boundedTerms,
  dayIn,
  distinguishingFields,
  idTerms,
  joinedWord,
  nameTerms,
  recordTerms,
  wordsOf,
} from '../../src/domain/records/searchIndex.ts';
import { looksFor, patternsOf, tidied } from '../../src/modules/records/queries/search.ts';

describe('words', () => {
  test.each([
    ['José  Núñez', ['jose', 'nunez']],
    ["O'Brien", ['obrien']],
    ['Smith-Jones', ['smith', 'jones']],
    ['ﬁve ＡＢＣ', ['five', 'abc']],
    ['МАРИЯ 日本', ['мария', '日本']],
    ['Đặng!', ['đang']],
    [' -.- ', []],
  ])('of %s', (text, words) => expect(wordsOf(text)).toEqual(words));

  test('a text is one word without its signs, and its signs where it has nothing else', () => {
    expect([joinedWord('Patient - 1001'), joinedWord('!! !')]).toEqual(['patient1001', '!!!']);
  });

  test('longer words are cut alike wherever they stand', () => {
    const long = '😀x'.repeat(60);
    expect(wordsOf(`é${'a'.repeat(99)}`)).toEqual([`e${'a'.repeat(63)}`]);
    expect(joinedWord(long).isWellFormed()).toBe(true);
  });
});

describe('days', () => {
  test.each(['1990-01-02', '01/02/1990', '1/2/1990', '1990/1/2', '01-02-1990', '19900102'])('%s', (text) =>
    expect(dayIn(text)).toBe('19900102'),
  );
  test.each(['1990', '1990-13-02', '13/02/1990', '99999999', 'a1990-01-02'])('%s is none', (text) =>
    expect(dayIn(text)).toBeUndefined(),
  );
});

describe('terms', () => {
  test('of ids: whole, parts, and the ends of those with digits', () => {
    expect(idTerms('MRN-0012345')).toEqual(['#mrn0012345', 'mrn', '0012345', '2345', '12345', '012345']);
    expect(idTerms('!!!')).toEqual(['#!!!']);
    expect(boundedTerms(idTerms('x1-'.repeat(80))).length).toBeLessThanOrEqual(64);
  });

  test('of names: words, those with signs as one, initials', () => {
    expect(nameTerms('Ana Smith-Jones')).toEqual([
      'ana',
      'smith',
      'jones',
      'ana',
      'smithjones',
      '^a',
      '^s',
      '^j',
    ]);
  });

  test('of a patient: names, day and year of birth, policies and what tells it apart', () => {
    const fields = {
      ...{
        id: 'p1',
        first_name: 'Maria',
        last_name: 'Lopez',
        date_of_birth: '1984-02-29T00:00:00Z',
        city: 'Omaha',
      },
      primary_insurance: { payer_id: 'aetna', policy_number: 'W-12', subscriber_last_name: 'Diaz' },
    };
    const terms = recordTerms(catalogEntry('patient'), fields);
    const expected = [
      '#p1',
      'p1',
      'maria',
      'lopez',
      '^m',
      '^l',
      '@19840229',
      '@1984',
      '#w12',
      'w',
      '12',
      'w12',
      'diaz',
      '^d',
    ];
    expect(terms.toSorted()).toEqual(expected.toSorted());
    expect(distinguishingFields(catalogEntry('patient'), fields)).toEqual({
      date_of_birth: '1984-02-29T00:00:00Z',
      'primary_insurance.payer_id': 'aetna',
      'primary_insurance.policy_number': 'W-12',
    });
  });

  test('each kind is found by its id and its names; one that comes later, too', () => {
    const location: CatalogEntry = defineKind({
      ...{ kind: 'location', plural: 'locations', title: 'Location', description: 'A room.' },
      eventType: 'LocationUpserted',
      fields: { id: identifier('Id', 'location-1'), name: requiredName('Room 12') },
      deidentified: { id: 'hashed', name: 'left out' },
      usedInClaim: { id: false, name: false },
      checks: {},
    });
    expect(recordTerms(location, { id: 'l', name: 'Room 12' })).toEqual([
      '#l',
      'l',
      'room',
      '12',
      '^r',
      '^1',
    ]);
    for (const { kind, schema } of catalog) {
      const names = Object.entries(schema.shape).filter(([field]) => /name$/.test(field));
      expect([kind, names.every(([, field]) => foundByOf(field as never) === 'name')]).toEqual([kind, true]);
    }
  });
});

test('what a text asks for', () => {
  const { whole, words, beginnings } = patternsOf(tidied('  Lopez  j 02/29/1984 '));
  expect(whole).toEqual([[{ term: '#lopezj02291984' }]]);
  expect(words).toEqual([
    [{ term: 'lopez' }],
    [{ term: 'j' }],
    [{ term: '02291984' }, { term: '@19840229' }],
  ]);
  expect(beginnings).toEqual([
    [{ beginning: 'lopez' }],
    [{ term: 'j' }, { term: '^j' }],
    [{ beginning: '02291984' }, { term: '@19840229' }],
  ]);
  expect(patternsOf('1984').words).toEqual([[{ term: '1984' }, { term: '@1984' }]]);
  expect(patternsOf('mrn-12').beginnings).toEqual([[{ term: 'mrn' }], [{ beginning: '12' }]]);
  expect(patternsOf('!!!')).toEqual({ whole: [[{ term: '#!!!' }]], words: [], beginnings: [] });
});

test.each([
  ['Lopez Maria', ['name']],
  ['lopez 1984', ['name', 'date']],
  ['patient-1001', ['id']],
  ['1234567893', ['number']],
  ['1984-02-29 mrn7', ['id', 'date']],
])('%s looks like %s', (text, sorts) => expect(looksFor(text)).toEqual(sorts));
