import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from './freePort.ts';
import { logScheme } from './logDriver.ts';
import { standInEnv } from './servers.ts';

const NODES = 3;

/** Three nodes of EventStoreDB's stand-in over one log, to be killed and started one by one; node 0 leads at first. */
export class StandInCluster {
  readonly #command: string[];
  readonly folder = mkdtempSync(join(tmpdir(), 'chartledger-cluster-'));
  #port = 0;
  #process: ChildProcess | undefined;
  #answers: AsyncIterator<string> | undefined;

  /** `command` is the beginning of a command line that goes on with HOST PORT FILE NODES. */
  constructor(command: string[]) {
    this.#command = command;
  }

  /** The nodes as `host:port`, node 0 first. */
  get nodes(): string[] {
    return Array.from({ length: NODES }, (_, n) => `127.0.0.1:${this.#port + n}`);
  }

  /** The nodes as a list, node 0 first, with or without the word that one of them is to be asked for the others. */
  url(hosts: 'list' | 'discover'): string {
    return `${logScheme}${hosts === 'discover' ? '+discover' : ''}://${this.nodes.join()}?tls=false`;
  }

  /** Starts the nodes, with these settings in their environment. */
  async start(env: Record<string, string> = {}): Promise<void> {
    this.#port = await freePort(NODES);
    const [program = '', ...rest] = this.#command;
    const place = ['127.0.0.1', String(this.#port), join(this.folder, 'log'), String(NODES)];
    this.#process = spawn(program, [...rest, ...place], {
      env: { ...standInEnv, ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const { stdout } = this.#process;
    this.#answers = createInterface({ input: stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
    await this.startNode(0);
  }

  /** Kills a node: the others elect another leader, if it was one and they are two. */
  killNode(n: number): Promise<void> {
    return this.#tell(`kill ${n}`);
  }

  /** Starts a node, unless it runs. */
  startNode(n: number): Promise<void> {
    return this.#tell(`start ${n}`);
  }

  /** What its file holds. */
  stored(): Buffer {
    return readFileSync(join(this.folder, 'log'));
  }

  /** Ends it and deletes its data. */
  async remove(): Promise<void> {
    const exited = this.#process && once(this.#process, 'exit');
    this.#process?.kill('SIGKILL');
    await exited;
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #tell(line: string): Promise<void> {
    this.#process?.stdin?.write(`${line}\n`);
    const answer = await this.#answers?.next();
    if (answer?.value !== line) throw new Error(`the cluster did not answer ${line}`);
  }
}
