import { AsyncLocalStorage } from 'node:async_hooks';
import type { Readable, Writable } from 'node:stream';

/** A command's settings and where it writes: a process's own streams and environment, or those of a run within one. */
export interface Terminal {
  env: Record<string, string | undefined>;
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean; columns?: number };
  stderr: Writable & { isTTY?: boolean };
  /** The command's exit code; undefined for success. */
  exitCode?: number | string | null | undefined;
}

const running = new AsyncLocalStorage<Terminal>();

/** Returns the terminal of the running command; the process's, if no other was given. */
export function terminal(): Terminal {
  return running.getStore() ?? process;
}

/** Runs `work`, and everything that it calls, on a terminal of its own. */
export function runOn<Result>(own: Terminal, work: () => Promise<Result>): Promise<Result> {
  return running.run(own, work);
}
