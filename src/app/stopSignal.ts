import { constants, readFileSync } from 'node:fs';

/**
 * Aborts when the process is asked to end: by SIGINT, SIGTERM, or SIGHUP, unless whoever started it wanted that ignored.
 * From now on neither SIGUSR1, at which Node opens its inspector, nor SIGUSR2 does anything.
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
 * Node takes back what its parent had ignored, before any of our code runs; so it is told by the traces: `nohup` named
 * in the environment by the shell, the standard input that `nohup` puts in a terminal's place, which can only be written
 * to, or a parent that ignores the signal itself (`trap '' HUP`).
 */
function isHangupIgnored(env: Record<string, string | undefined>): boolean {
  if (/(^|\/)nohup$/.test(env._ ?? '')) return true;
  const flags = Number.parseInt(find('/proc/self/fdinfo/0', /^flags:\s*(\d+)/m), 8);
  if ((flags & (constants.O_WRONLY | constants.O_RDWR)) === constants.O_WRONLY) return true;
  const ignoredByParent = BigInt(`0x${find(`/proc/${process.ppid}/status`, /^SigIgn:\s*(\w+)/m)}`);
  return (ignoredByParent & 1n) === 1n;
}

/** What a file of `/proc` says; `0` where it does not, or where there is none. */
function find(path: string, what: RegExp): string {
  try {
    return what.exec(readFileSync(path, 'utf8'))?.[1] ?? '0';
  } catch {
    return '0';
  }
}
