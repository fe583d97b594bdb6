import { AsyncLocalStorage } from 'node:async_hooks';
import type { Readable, Writable } from 'node:stream';

/** What a command is told and where it writes: a process's own streams and settings, or those of a run within one. */
export interface Terminal {
  env: Record<string, string | undefined>;
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean; columns?: number };
  stderr: Writable & { isTTY?: boolean };
  /** How the command ended; undefined for well. */
  exitCode?: number | string | null | undefined;
}

const running = new AsyncLocalStorage<Terminal>();

/** The terminal of the command that runs; the process's, where no other was given. */
export function terminal(): Terminal {
  return running.getStore() ?? process;
}

/** Runs `work`, and all that it calls, on a terminal of its own. */
export function runOn<Result>(own: Terminal, work: () => Promise<Result>): Promise<Result> {
  return running.run(own, work);
}
