import { expect, test } from 'vitest';
import { type BudgetShare, FairBudget, WORKSPACE_AND_KEY } from '../../src/platform/threads/fairBudget.ts';

/** Takes one after another until no more is given; with how many there were. */
function takeAll(share: BudgetShare): number {
  let taken = 0;
  while (share.reserve(1)) taken += 1;
  return taken;
}

test('a key alone has a third, and others, of its workspace or not, a part of what that leaves', () => {
  const budget = new FairBudget(600, WORKSPACE_AND_KEY);
  expect(takeAll(budget.share(['one', 'a']))).toBe(200);
  expect(takeAll(budget.share(['one', 'b']))).toBe(66);
  expect(takeAll(budget.share(['one', 'c']))).toBe(22);
  expect(takeAll(budget.share(['two', 'd']))).toBe(104);
  expect(takeAll(budget.share(['two', 'e']))).toBe(34);
});

test('work of one owner counts together, and what is given back can be taken again, once', () => {
  const budget = new FairBudget(6, WORKSPACE_AND_KEY);
  const [first, second] = [budget.share(['one', 'a']), budget.share(['one', 'a'])];
  expect([first.reserve(1), second.reserve(1), second.reserve(1)]).toEqual([true, true, false]);
  first.release();
  first.release();
  expect([second.reserve(1), second.reserve(1)]).toEqual([true, false]);
});

test('an owner that holds nothing may take all that is left, and no more than that', () => {
  const budget = new FairBudget(1, WORKSPACE_AND_KEY);
  expect(budget.share(['one', 'a']).reserve(2)).toBe(false);
  const only = budget.share(['one', 'a']);
  expect(only.reserve(1)).toBe(true);
  expect(budget.share(['two', 'b']).reserve(1)).toBe(false);
  only.release();
  expect(budget.share(['two', 'b']).reserve(1)).toBe(true);
});
