import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { compileCache } from './compileCache.ts';
import { node } from './serviceProcess.ts';

/** The short forms, by one seed: what CI finds comes again. */
export async function torture(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const { PATH, TEST_ESDB_RESTART, TEST_MONGODB_RESTART } = process.env;
  const child = spawn(node, ['ops/torture/main.ts', '--short', '--seed', '1', ...args], {
    env: { PATH, TEST_ESDB_RESTART, TEST_MONGODB_RESTART, ...compileCache },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const code = new Promise<number>((resolve) => child.on('close', resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await code, stdout, stderr };
}

export async function expectHolds(scenario: string): Promise<void> {
  const { code, stdout, stderr } = await torture('--scenario', scenario);
  expect({ code, stdout: code === 0 ? '' : stdout, stderr: code === 0 ? '' : stderr }).toEqual({
    code: 0,
    stdout: '',
    stderr: '',
  });
  expect(stdout).toContain('| verdict | ✓ |');
}
