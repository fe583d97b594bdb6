import { expect, test } from 'vitest';
import { expectHolds, torture } from '../support/processes.ts';

const scenarios = ['kills', 'model', 'faults', 'warehouse'];

test(
  `nothing fails in the short forms of ${scenarios.join(', ')}`,
  () => expectHolds(...scenarios),
  1_200_000,
);

test('a scenario that there is not is refused', async () => {
  const { code, stdout } = await torture('--scenario', 'nothing');
  expect(code).toBe(1);
  expect(stdout).toContain('npm run torture [-- OPTIONS]');
});
