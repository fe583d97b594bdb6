import { expect, test } from 'vitest';
import { expectHolds, torture } from '../support/processes.ts';

test.each(['kills', 'model', 'faults', 'warehouse'])(
  'nothing fails in the short form of %s',
  expectHolds,
  300_000,
);

test('a scenario that there is not is refused', async () => {
  const { code, stdout } = await torture('--scenario', 'nothing');
  expect(code).toBe(1);
  expect(stdout).toContain('npm run torture [-- OPTIONS]');
});
