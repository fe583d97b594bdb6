import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../../test/support/servers.ts';
import type { Bench } from '../scenario.ts';
import { SyncGauge, type Syncs } from './syncs/syncGauge.ts';

/** A server under test, in a process of its own. */
export interface ServerProcess {
  url: string;
  pid: number;
  /** From the start of the process to its first response. */
  startMilliseconds: number;
  /** Its syncs of files in its folder; undefined where they cannot be counted. */
  syncs: { read(): Syncs } | undefined;
  /** Makes each of them take at least `leastMs` milliseconds; undefined where that cannot be done. */
  slowSyncs: ((leastMs: number) => void) | undefined;
  stop(): Promise<void>;
}

export interface ServerOptions {
  /** Module to run, from the repository's root. */
  script: string;
  env: Record<string, string>;
  /** Folder for what the server prints, and for its files. */
  folder: string;
  /** Node options in addition to those of `npm start`, with which the comparisons also run. */
  nodeOptions?: string[];
}

/** The repository's folder. */
export const root = fileURLToPath(new URL('../../../', import.meta.url));
const { scripts } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
/** `NAME=VALUE… node OPTION… src/main.ts` */
const startWords: string[] = scripts.start.split(' ');
export const startVariables = startWords.slice(0, startWords.indexOf('node')).map((word) => word.split('='));
/** Node options with which `npm start` runs the service. */
export const startOptions = startWords.slice(startVariables.length + 1, -1);
const ASK_EVERY_MS = 5;
const START_WITHIN_MS = 120_000;
const STOP_WITHIN_MS = 60_000;
const running = new Set<ChildProcess>();
/** Those that were told to end. */
const ended = new WeakSet<ChildProcess>();

/** Starts a server with the same Node as this process; resolves when it is ready for requests. */
export async function startServer({ syncLibrary }: Bench, options: ServerOptions): Promise<ServerProcess> {
  const { script, env, folder, nodeOptions = [] } = options;
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const syncs = syncLibrary === undefined ? undefined : new SyncGauge(syncLibrary, folder, String(port));
  const slowSyncs = syncs && ((leastMs: number) => syncs.takeAtLeast(leastMs));
  const outputPath = join(folder, `${port}.out`);
  const output = openSync(outputPath, 'a');
  const startedAt = performance.now();
  const child = spawn(process.execPath, [...startOptions, ...nodeOptions, script], {
    cwd: root,
    env: {
      PATH: process.env.PATH,
      ...Object.fromEntries(startVariables),
      NODE_ENV: 'production',
      HOST: '127.0.0.1',
      PORT: String(port),
      ...syncs?.env,
      ...env,
    },
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  running.add(child);
  child.once('exit', (code, signal) => {
    running.delete(child);
    if (ended.has(child)) return;
    const said = readFileSync(outputPath, 'utf8').slice(-2000);
    process.stderr.write(`${script} ended unexpectedly with ${code ?? signal}: ${said}\n`);
  });
  while (!(await isReady(url))) {
    if (child.exitCode !== null || performance.now() - startedAt > START_WITHIN_MS) {
      kill(child);
      throw new Error(`${script} did not start: ${readFileSync(outputPath, 'utf8').slice(-2000)}`);
    }
    await sleep(ASK_EVERY_MS);
  }
  const startMilliseconds = performance.now() - startedAt;
  return { url, pid: child.pid as number, startMilliseconds, syncs, slowSyncs, stop: () => stop(child) };
}

/** Immediately ends any servers still running. */
export function killServers(): void {
  for (const child of running) kill(child);
}

function kill(child: ChildProcess): void {
  ended.add(child);
  child.kill('SIGKILL');
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  ended.add(child);
  const exited = once(child, 'exit');
  const force = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
  child.kill('SIGTERM');
  await exited;
  clearTimeout(force);
}

/** Comparisons respond with 404, which is a response; the service responds with 503 until it is ready. */
function isReady(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const asking = get(`${url}/readyz`, { agent: false }, (res) => {
      res.resume();
      resolve(res.statusCode !== 503);
    });
    asking.on('error', () => resolve(false));
  });
}
