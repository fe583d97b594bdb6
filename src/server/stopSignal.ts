import { constants, readFileSync } from 'node:fs';

/**
 * Returns a signal that aborts when the process is asked to end: by SIGINT, SIGTERM, or SIGHUP, unless its parent had that
 * ignored. From now on neither SIGUSR1, on which Node opens its inspector, nor SIGUSR2 has any effect.
 */
export function stopSignal(env: Record<string, string | undefined>): AbortSignal {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  const ignore = () => undefined;
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  process.on('SIGHUP', isHangupIgnored(env) ? ignore : stop);
  process.on('SIGUSR1', ignore);
  process.on('SIGUSR2', ignore);
  return stopping.signal;
}

/**
 * Node resets signals ignored by its parent before any of our code runs; so this goes by traces: `nohup` named in the environment
 * by the shell, the write-only standard input with which `nohup` replaces a terminal, or a parent that ignores the signal itself
 * (`trap '' HUP`).
 */
function isHangupIgnored(env: Record<string, string | undefined>): boolean {
  if (/(^|\/)nohup$/.test(env._ ?? '')) return true;
  const flags = Number.parseInt(find('/proc/self/fdinfo/0', /^flags:\s*(\d+)/m), 8);
  if ((flags & (constants.O_WRONLY | constants.O_RDWR)) === constants.O_WRONLY) return true;
  const ignoredByParent = BigInt(`0x${find(`/proc/${process.ppid}/status`, /^SigIgn:\s*(\w+)/m)}`);
  return (ignoredByParent & 1n) === 1n;
}

/** Returns what a file in `/proc` says; `0` when it does not, or does not exist. */
function find(path: string, what: RegExp): string {
  try {
    return what.exec(readFileSync(path, 'utf8'))?.[1] ?? '0';
  } catch {
    return '0';
  }
}
