import { type Exit, node, ServiceProcess } from '../../../test/support/processes.ts';
import { startOptions } from '../../bench/support/serverProcess.ts';

const running = new Set<ServiceProcess>();

/** Immediately ends any processes still running. */
export function killProcesses(): void {
  for (const { child } of running) child.kill('SIGKILL');
}

/** What `npm start` runs. */
export const startCommand = [node, ...startOptions, 'src/main.ts'];

/** A service as run by `npm start`, which is killed and restarted on the same stores. */
export class TorturedService {
  readonly #env: Record<string, string>;
  readonly #command: string[];
  #process: ServiceProcess | undefined;
  /** Whether the process was told to end, so that there will be another one. */
  #isEnding = false;
  #next = Promise.withResolvers<void>();

  constructor(env: Record<string, string>, command = startCommand) {
    this.#env = env;
    this.#command = command;
  }

  get pid(): number {
    return this.#process?.child.pid as number;
  }

  /** Starts a process; resolves with its address. Rejects if it is killed meanwhile. */
  start(): Promise<string> {
    const started = new ServiceProcess(this.#env, { command: this.#command });
    running.add(started);
    const ended = () => running.delete(started);
    started.exit().then(ended, ended);
    this.#process = started;
    this.#isEnding = false;
    this.#next.resolve();
    this.#next = Promise.withResolvers();
    const url = started.url();
    url.catch(() => undefined);
    return url;
  }

  /**
   * Resolves with the address of the running process, or of the next one that gets to listen; rejects where the
   * present one does not.
   */
  async url(): Promise<string> {
    for (;;) {
      const present = this.#process;
      if (present === undefined) throw new Error('the service was not started');
      try {
        return await present.url();
      } catch (error) {
        if (present !== this.#process) continue;
        if (!this.#isEnding) throw error;
        await this.#next.promise;
      }
    }
  }

  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit | undefined> {
    this.#isEnding = true;
    return this.#process?.end(signal);
  }

  signal(signal: NodeJS.Signals): void {
    this.#process?.child.kill(signal);
  }
}
