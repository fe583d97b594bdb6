import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

/** Runs a program to its end, and resolves to what it printed; a program that does not exist ends with -1. */
export async function runProgram(
  program: string,
  args: string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<{ code: number; stdout: string }> {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = new Promise<number>((resolve) => {
    child.once('error', () => resolve(-1));
    child.once('close', (code) => resolve(code ?? -1));
  });
  const stdout = await text(child.stdout);
  return { code: await ended, stdout };
}
