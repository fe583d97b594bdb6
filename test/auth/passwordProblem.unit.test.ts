import { expect, test } from 'vitest';
import { passwordProblem } from '../../src/modules/auth/passwords.ts';

const EASY = 'easy to guess';

test.each([
  ['eleven char', 'at least 12'],
  ['x'.repeat(201), 'at most 200'],
  ['  ADA@clinic.example ', 'must not be the same as the user name'],
  ['aaaaaaaaaaaa', EASY],
  ['            ', EASY],
  ['123456789012', EASY],
  ['qwertyuiopas', EASY],
  ['Password123!', EASY],
  ['p@ssw0rd1234', EASY],
  ['letmeinletmein', EASY],
  ['chartledger2026', EASY],
  ['ada@clinic.example1', EASY],
  ['abcdefghijklmnop', EASY],
  [`${'a'.repeat(64)}correct horse battery`, EASY],
  ['correct horse battery', undefined],
  ['kidney tulip forklift', undefined],
  ['tR7#xQ2!mZ9w', undefined],
  ['Müller und Söhne, Ulm', undefined],
  [`${'😀🐴🔋'.repeat(4)}correct horse`, undefined],
])('as a password %j: %s', async (chosen, problem) => {
  const told = await passwordProblem(chosen, 'ada@clinic.example');
  if (problem === undefined) expect(told).toBeUndefined();
  else expect(told).toContain(problem);
});
