import { expect, test } from 'vitest';
import { SharedSemaphore } from '../../src/platform/threads/semaphore.ts';

/** Two threads' views of so many places. */
function places(count: number): [SharedSemaphore, SharedSemaphore] {
  const buffer = SharedSemaphore.bufferFor(2);
  return [new SharedSemaphore(count, buffer, 0), new SharedSemaphore(count, buffer, 1)];
}

test('threads take no more places than there are', () => {
  const [one, other] = places(2);
  expect([one.tryAcquire(), other.tryAcquire(), one.tryAcquire(), other.tryAcquire()]).toEqual([
    true,
    true,
    false,
    false,
  ]);
  other.give();
  expect([one.tryAcquire(), other.tryAcquire()]).toEqual([true, false]);
});

test('who waits gets a place that another thread gives, in order', async () => {
  const [one, other] = places(1);
  other.tryAcquire();
  const order: string[] = [];
  const waiting = ['first', 'second'].map(async (name) => {
    await one.wait();
    order.push(name);
    if (name === 'first') expect(one.waiting).toBe(1);
    one.give();
  });
  expect(one.waiting).toBe(2);
  other.give();
  await Promise.all(waiting);
  expect(order).toEqual(['first', 'second']);
  expect(one.waiting).toBe(0);
});

test('the places of a thread that ended are given back, and no others', () => {
  const [one, other] = places(3);
  one.tryAcquire();
  other.tryAcquire();
  other.tryAcquire();
  one.giveAll();
  expect([one.tryAcquire(), one.tryAcquire()]).toEqual([true, false]);
});
