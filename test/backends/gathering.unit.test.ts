import { afterAll, expect, test, vi } from 'vitest';
import { Gathering } from '../../src/backends/sqlite/Gathering.ts';

let now = 0;
const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
afterAll(() => clock.mockRestore());

/** How long, in ms, so many waits take one after the other, in each of which something comes after so long. */
async function waits(
  gathering: Gathering,
  count: number,
  comesAfter: number,
  slowness = 1,
): Promise<number[]> {
  const took: number[] = [];
  for (let done = 0; done < count; done += 1) {
    const begun = now;
    await gathering.wait(
      () => now - begun >= comesAfter,
      async (ms) => {
        now += ms * slowness;
      },
    );
    took.push(now - begun);
  }
  return took;
}

const never = () => false;

test('events that keep coming gather for longer each time, up to what is allowed', async () => {
  const gathering = new Gathering({ ms: 240, isAwaited: never });
  expect(await waits(gathering, 6, 0)).toEqual([20, 40, 80, 160, 240, 240]);
});

test('where pauses take longer than they should, events gather no longer', async () => {
  const gathering = new Gathering({ ms: 240, isAwaited: never });
  await waits(gathering, 6, 0);
  expect(await waits(gathering, 2, 0, 6)).toEqual([240, 240]);
});

test('what comes after a pause is given at once', async () => {
  const gathering = new Gathering({ ms: 240, isAwaited: never });
  await waits(gathering, 6, 0);
  expect(await waits(gathering, 2, 1_000)).toEqual([1_000, 1_000]);
  expect(await waits(gathering, 3, 0)).toEqual([20, 40, 80]);
});

test('what is awaited is given at once', async () => {
  let isAwaited = false;
  const gathering = new Gathering({ ms: 60_000, isAwaited: () => isAwaited });
  await waits(gathering, 10, 0);
  isAwaited = true;
  expect(await waits(gathering, 2, 100)).toEqual([100, 100]);
});

test('without leave nothing gathers for longer', async () => {
  expect(await waits(new Gathering(undefined), 3, 0)).toEqual([20, 20, 20]);
});
