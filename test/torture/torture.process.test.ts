import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { compileCache } from '../support/compileCache.ts';
import { node } from '../support/serviceProcess.ts';

/** The short forms, by one seed: what CI finds comes again. */
async function torture(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = spawn(node, ['ops/torture/main.ts', '--short', '--seed', '1', ...args], {
    env: { PATH: process.env.PATH, ...compileCache },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const code = new Promise<number>((resolve) => child.on('close', resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await code, stdout, stderr };
}

test.each(['kills', 'model', 'faults'])(
  'nothing fails in the short form of %s',
  async (scenario) => {
    const { code, stdout, stderr } = await torture('--scenario', scenario);
    expect({ code, stdout: code === 0 ? '' : stdout, stderr: code === 0 ? '' : stderr }).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
    expect(stdout).toContain('| verdict | ✓ |');
  },
  300_000,
);

test('a scenario that there is not is refused', async () => {
  const { code, stdout } = await torture('--scenario', 'nothing');
  expect(code).toBe(1);
  expect(stdout).toContain('npm run torture [-- OPTIONS]');
});
