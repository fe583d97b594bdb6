import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { root, startVariables } from './serverProcess.ts';

const LOOK_EVERY_MS = 20;
/** Of `utime` and `stime` in `/proc/PID/stat`, which count 10 ms (`sysconf(_SC_CLK_TCK)`). */
const TICK_MS = 10;
/** Place of `utime` behind the name of the program, which may contain blanks. */
const UTIME = 11;

/** Milliseconds of processor time of a process and its ended threads; undefined once it has ended. */
function processorTime(pid: number): number | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return (Number(fields[UTIME]) + Number(fields[UTIME + 1])) * TICK_MS;
  } catch {
    return undefined;
  }
}

/**
 * Runs a command of the command line; resolves with its processor time in milliseconds, without the last 20 ms. Rejects when
 * the command fails.
 */
export async function commandCost(env: Record<string, string>, ...args: string[]): Promise<number> {
  const child = spawn(process.execPath, ['src/cli/main.ts', ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, ...Object.fromEntries(startVariables), ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (text) => {
    said += text;
  });
  let used = 0;
  const look = setInterval(() => {
    used = processorTime(child.pid as number) ?? used;
  }, LOOK_EVERY_MS);
  const [code] = await once(child, 'close');
  clearInterval(look);
  if (code !== 0) throw new Error(`chartledger ${args.join(' ')} ended with ${code}: ${said.slice(-1_000)}`);
  return used;
}
