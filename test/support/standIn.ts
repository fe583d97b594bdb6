import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually.ts';
import { freePort } from './freePort.ts';
import { logScheme } from './logDriver.ts';
import { standInEnv } from './servers.ts';

/** A server of the test's own, EventStoreDB's stand-in unless said otherwise, to be killed and frozen; its data outlive it. */
export class StandIn {
  readonly #command: string[];
  readonly #end: NodeJS.Signals;
  readonly #urlOf: (port: number) => string;
  readonly #folder = mkdtempSync(join(tmpdir(), 'chartledger-stand-in-'));
  #port = 0;
  #process: ChildProcess | undefined;

  /** `command` is the beginning of a command line that goes on with HOST PORT FILE; `end` is the signal that ends it. */
  constructor(
    command: string[],
    urlOf = (port: number) => `${logScheme}://127.0.0.1:${port}?tls=false`,
    end: NodeJS.Signals = 'SIGKILL',
  ) {
    this.#command = command;
    this.#urlOf = urlOf;
    this.#end = end;
  }

  get url(): string {
    return this.#urlOf(this.#port);
  }

  /** Starts it, again on the same port and data; resolves when it listens. Its clock is so far behind ours. */
  async start(behindMs = 0): Promise<void> {
    this.#port ||= await freePort();
    const [program = '', ...rest] = this.#command;
    const place = ['127.0.0.1', String(this.#port), join(this.#folder, 'log')];
    const clock = `const { now } = Date; Date.now = () => now() - ${behindMs};`;
    const options = behindMs === 0 ? [] : ['--import', `data:text/javascript,${encodeURIComponent(clock)}`];
    this.#process = spawn(program, [...options, ...rest, ...place], { stdio: 'ignore', env: standInEnv });
    await eventually(() => listening(this.#port));
  }

  async kill(): Promise<void> {
    if (this.#process === undefined) return;
    const exited = once(this.#process, 'exit');
    this.#process.kill(this.#end);
    this.thaw();
    await exited;
    this.#process = undefined;
  }

  freeze(): void {
    this.#process?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#process?.kill('SIGCONT');
  }

  /** What its file holds of events, as text: it holds data and metadata in base64. */
  stored(): string {
    const lines = readFileSync(join(this.#folder, 'log'), 'utf8').split('\n');
    const decoded = (value: string) => Buffer.from(value, 'base64').toString();
    return lines
      .filter((line) => line.trim() !== '')
      .map((line) => JSON.parse(line, (name, value) => (isEncoded(name) ? decoded(value) : value)))
      .map((event) => JSON.stringify(event))
      .join('\n');
  }

  /** Kills it and deletes its data. */
  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

const isEncoded = (name: string) => name === 'data' || name === 'metadata';

async function listening(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
  } finally {
    socket.destroy();
  }
}
