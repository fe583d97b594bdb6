import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { compileCache } from './compileCache.ts';

/** A busy machine needs long for what takes half a second by itself. */
const START_MS = 60_000;

/** A Node that runs the service. */
export const node = resolve('node_modules/.bin/node');

/** What `npm start` runs, without its options for V8. */
export const serviceCommand = [node, resolve('src/main.ts')];

export interface Exit {
  code: number | null;
  stdout: string;
  stderr: string;
}

interface ProcessOptions {
  command?: string[];
  stdout?: number | 'pipe';
  uid?: number;
}

/** The service as a process of its own, as `npm start` runs it. */
export class ServiceProcess {
  readonly child: ChildProcess;
  stdout = '';
  stderr = '';
  readonly #exit: Promise<unknown>;
  readonly #listening = Promise.withResolvers<string>();

  /**
   * Starts it with these settings and no others. `command` is what starts it, `stdout` a file descriptor that takes its
   * output instead of `this.stdout`, `uid` whose it is.
   */
  constructor(
    env: Record<string, string>,
    { command = serviceCommand, stdout = 'pipe', uid }: ProcessOptions = {},
  ) {
    const [program, ...args] = command as [string, ...string[]];
    this.child = spawn(program, args, {
      env: { PATH: process.env.PATH, ...compileCache, PORT: '0', LOG_LEVEL: 'silent', ...env },
      stdio: ['ignore', stdout, 'pipe'],
      ...(uid !== undefined && { uid }),
    });
    this.child.stdout?.on('data', (chunk) => this.take(chunk));
    this.child.stderr?.on('data', (chunk) => {
      this.stderr += chunk;
    });
    this.#exit = once(this.child, 'close');
    const fail = (what: string) => this.#listening.reject(new Error(`${what}: ${this.stderr}`));
    const late = setTimeout(fail, START_MS, 'it does not listen yet').unref();
    const ended = () => {
      clearTimeout(late);
      fail(`it ended before it listened (${this.child.exitCode ?? this.child.signalCode})`);
    };
    this.#exit.then(ended, ended);
    this.#listening.promise.catch(() => undefined);
  }

  /** Resolves with its address, once it said that it listens; rejects when it ends before, or takes a minute. */
  url(): Promise<string> {
    return this.#listening.promise;
  }

  /** Resolves when it has ended by itself, or by a signal sent before. */
  async exit(): Promise<Exit> {
    await this.#exit;
    return { code: this.child.exitCode, stdout: this.stdout, stderr: this.stderr };
  }

  /** Sends a signal and waits for the end. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    this.child.kill(signal);
    return this.exit();
  }

  /** Takes a part of its output from who reads it in place of this. */
  take(chunk: Buffer): void {
    this.stdout += chunk;
    const [, url] = /listens on (\S+)\n\n/.exec(this.stdout) ?? [];
    if (url !== undefined) this.#listening.resolve(url);
  }
}
