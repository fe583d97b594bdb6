import { expect, test } from 'vitest';
import { visitList, visitLists } from '../../src/domain/records/fold.ts';

const visit = {
  patient_id: 'p',
  provider_id: 'd',
  date_of_service: '2026-03-14T23:30:00-05:00',
  facility_id: 'f',
};

test('encounters are on one list when they are of one visit, whatever their ids are', () => {
  const same = [{}, { date_of_service: '2026-03-14' }, { status: 'seen', rendering_provider_id: 'r' }];
  const other = [
    { patient_id: 'p&d', provider_id: '' },
    { patient_id: 'p&d', provider_id: 'd' },
    { provider_id: 'd&2026-03-14' },
    { date_of_service: '2026-03-15' },
    { facility_id: undefined },
    { facility_id: 'f ' },
  ];
  const listsOf = (changes: object[]) => new Set(changes.map((change) => visitList({ ...visit, ...change })));
  expect(listsOf(same).size).toBe(1);
  expect(listsOf([...same, ...other]).size).toBe(1 + other.length);
  expect(listsOf([{ facility_id: undefined }, { facility_id: ' ' }]).size).toBe(1);
});

test('without patient, provider or day there is no visit', () => {
  const without = ['patient_id', 'provider_id', 'date_of_service'].map((field) => ({
    ...visit,
    [field]: undefined,
  }));
  expect(without.map(visitList)).toEqual([undefined, undefined, undefined]);
});

test('an encounter stays on the lists of its last 20 visits', () => {
  const days = Array.from({ length: 25 }, (_, at) => `2026-03-${String(at + 1).padStart(2, '0')}`);
  const onDay = (date_of_service?: string) => ({ ...visit, date_of_service });
  let lists = ['status=seen'];
  for (const day of days) lists = visitLists(lists, onDay(day));
  expect(lists).toEqual(days.slice(-20).map((day) => visitList(onDay(day))));
  expect(visitLists(lists, onDay())).toEqual(lists);
  const again = visitLists(lists, onDay(days.at(-3)));
  expect(again).toHaveLength(20);
  expect(new Set(again)).toEqual(new Set(lists));
});
