import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import type { NewEvent } from '../../src/domain/events/event.ts';
import { STORE_FORMAT } from '../../src/storage/storeFormat.ts';
import { storesOf, temporaryFolder } from './cli.ts';
import { Client } from './client.ts';
import { eventually, LaterClock } from './eventually.ts';
import { startTestService, type TestService } from './service.ts';
import { compileCache } from './vitest.ts';

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
      // In production, only the log says where it listens.
      env: {
        ...{ PATH: process.env.PATH, ...compileCache, PORT: '0' },
        LOG_LEVEL: env.NODE_ENV === 'production' ? 'info' : 'silent',
        ...env,
      },
      stdio: ['ignore', stdout, 'pipe'],
      ...(uid !== undefined && { uid }),
    });
    this.child.stdout?.on('data', (chunk) => this.take(chunk));
    this.child.stderr?.on('data', (chunk) => {
      this.stderr += chunk;
      this.#findUrl(/listens on (\S+)\n\n/.exec(this.stderr));
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
    this.#findUrl(/"url":"([^"]+)"[^\n]*"msg":"ready"/.exec(this.stdout));
  }

  #findUrl(found: RegExpExecArray | null): void {
    if (found?.[1] !== undefined) this.#listening.resolve(found[1]);
  }
}

/** A command of `chartledger` that goes on until it is told to end. */
export class CliProcess extends ServiceProcess {
  constructor(args: string[], env: Record<string, string>) {
    super(env, { command: [process.execPath, 'bin/chartledger.mjs', ...args] });
  }

  /** Waits until it has printed so many lines, and gives them. */
  lines(count: number): Promise<string[]> {
    return eventually(() => {
      const lines = this.stdout.split('\n').slice(0, -1);
      if (lines.length < count) throw new Error(`${lines.length} lines, not ${count}: ${this.stderr}`);
      return lines;
    }, 60_000);
  }

  /** Waits until it has said this on standard error, and gives all that it said. */
  told(what: RegExp): Promise<string> {
    return eventually(() => {
      if (!what.test(this.stderr)) throw new Error(`it said: ${this.stderr}`);
      return this.stderr;
    }, 60_000);
  }
}

/** Longer than an idempotency key is held by a process of which nothing is heard. */
const LONG_AFTER_MS = 15_000;

/** What a suite works with that is about processes which die between append and answer. */
export class DyingSuite {
  service!: TestService;
  /** Speaks to a service on the same stores by whose clock some seconds have gone by. */
  later!: Client & { stop(): Promise<void> };
  /** Speaks to a process of the test's own that dies with the first request that bears an idempotency key. */
  dying!: Client;
  #child!: ServiceProcess;

  constructor() {
    beforeAll(async () => {
      this.service = await startTestService();
      const { key } = await this.service.createKey('clinic', ['write', 'read', 'webhooks']);
      const { stop, url } = await this.service.another({}, { clock: new LaterClock(LONG_AFTER_MS) });
      this.later = Object.assign(new Client(url, key), { stop });
    });
    beforeEach(() => this.revive());
    afterEach(() => this.#child.end('SIGKILL'));
    afterAll(async () => {
      await this.later.stop();
      await this.service.stop();
    });
  }

  /** The same key, at the service whose clock is right. */
  get present(): Client {
    return this.service.as(this.later.key);
  }

  /** Starts the process, once more when it died. */
  async revive(): Promise<void> {
    await this.#child?.end('SIGKILL');
    const { config } = this.service;
    this.#child = new ServiceProcess(
      { ...storesOf(config), DATA_DIR: config.dataDir, RATE_LIMIT_PER_MINUTE: '0', NODE_ENV: 'production' },
      { command: [node, 'test/support/processes/dyingService.ts'] },
    );
    this.dying = new Client(await this.#child.url(), this.later.key);
  }
}

/** A process of its own that runs `repeatAppends.ts`. */
export class RepeatingProcess {
  /** Revision by event id, of what was acknowledged. */
  readonly places = new Map<string, number>();
  /** How often an append was refused. */
  refusals = 0;
  readonly exited: Promise<unknown>;
  readonly #child: ChildProcess;
  readonly #ready = Promise.withResolvers<void>();

  constructor(url: string, stream: string) {
    const script = resolve('test/support/processes/repeatAppends.ts');
    this.#child = spawn(resolve('node_modules/.bin/node'), [script, url, stream], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.exited = once(this.#child, 'close');
    createInterface({ input: this.#child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      if (line === 'ready') return this.#ready.resolve();
      if (line === 'refused') {
        this.refusals += 1;
        return;
      }
      const [revision, id = ''] = line.split(' ');
      this.places.set(id, Number(revision));
    });
  }

  /** Resolves when it has opened the log. */
  ready(): Promise<void> {
    return this.#ready.promise;
  }

  send(events: NewEvent[]): void {
    this.#child.stdin?.write(`${JSON.stringify(events)}\n`);
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}

/** What the program is made of, where it runs from its sources. */
const parts = ['src', 'projections', 'assets', 'package.json'];

/** The build of `newerBuild` in a format that this one does not know. */
export function laterFormatBuild(folder: string): string[] {
  const command = newerBuild(folder);
  replace(
    join(folder, 'src/storage/storeFormat.ts'),
    `STORE_FORMAT = ${STORE_FORMAT};`,
    `STORE_FORMAT = ${STORE_FORMAT + 1};`,
  );
  return command;
}

/**
 * A build of the service, in an empty folder, that writes payers and uploads of documents in the next schema version;
 * `withNewModel`: its read model of records has another version too. The result is the command that starts it.
 */
export function newerBuild(folder: string, { withNewModel = false } = {}): string[] {
  for (const part of parts) cpSync(resolve(part), join(folder, part), { recursive: true });
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  const step = '[(data) => ({ ...data })]';
  replace(join(folder, 'src/domain/records/kinds/payer.ts'), 'fields: {', `upcasts: ${step},\n  fields: {`);
  replace(
    join(folder, 'src/domain/events/upcasting.ts'),
    'DocumentUploaded: [],',
    `DocumentUploaded: ${step.replace('data', 'data: JsonObject')},`,
  );
  if (withNewModel) replace(join(folder, 'projections/records.ts'), '+ addedKinds,', '+ addedKinds + 1,');
  return [node, join(folder, 'src/main.ts')];
}

function replace(path: string, from: string, to: string): void {
  const text = readFileSync(path, 'utf8');
  if (!text.includes(from)) throw new Error(`${path} does not hold: ${from}`);
  writeFileSync(path, text.replace(from, to));
}

/** A Node before 24 on the path, outside this package. */
function findOlderNode(): string | undefined {
  const folders = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => !folder.includes('node_modules'));
  return folders
    .map((folder) => join(folder, 'node'))
    .find(
      (node) =>
        existsSync(node) && Number(execFileSync(node, ['-p', 'parseInt(process.version.slice(1))'])) < 24,
    );
}

/** What `chartledger` has to start on, too; undefined, with a line that says so, where there is none. */
export const olderNode = findOlderNode();
if (olderNode === undefined) process.stdout.write('Skipped: no Node older than 24 is on the path.\n');

/** Every Node to be tried: the one that runs the tests, and an older one. */
export const nodes = [process.execPath, ...(olderNode === undefined ? [] : [olderNode])];

const run = promisify(execFile);

/**
 * Packs a package of this repository, as it would be published, out of copies of its `files`, and installs it into an empty folder,
 * whose path it gives: the build would otherwise leave its output among the sources.
 */
export async function installPacked(folder: string, files: readonly string[]): Promise<string> {
  const root = temporaryFolder();
  const [copy, application] = [join(root, 'copy'), join(root, 'application')];
  mkdirSync(copy);
  mkdirSync(application);
  for (const name of files) cpSync(join(folder, name), join(copy, name), { recursive: true });
  symlinkSync(resolve('node_modules'), join(copy, 'node_modules'));
  await run('npm', ['pack', '--pack-destination', root], { cwd: copy });
  const [archive = ''] = readdirSync(root).filter((name) => name.endsWith('.tgz'));
  writeFileSync(join(application, 'package.json'), '{"private": true, "type": "module"}');
  const options = ['--prefer-offline', '--no-audit', '--no-fund'];
  await run('npm', ['install', ...options, join(root, archive)], { cwd: application });
  return application;
}

/** The short forms, by one seed: what CI finds comes again. */
export async function torture(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const { PATH, TEST_ESDB_RESTART, TEST_MONGODB_RESTART } = process.env;
  const child = spawn(node, ['ops/torture/main.ts', '--short', '--seed', '1', ...args], {
    env: { PATH, TEST_ESDB_RESTART, TEST_MONGODB_RESTART, ...compileCache },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const code = new Promise<number>((resolve) => child.on('close', resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await code, stdout, stderr };
}

export async function expectHolds(...scenarios: string[]): Promise<void> {
  const { code, stdout, stderr } = await torture('--scenario', scenarios.join());
  expect({ code, stdout: code === 0 ? '' : stdout, stderr: code === 0 ? '' : stderr }).toEqual({
    code: 0,
    stdout: '',
    stderr: '',
  });
  expect(stdout.match(/\| verdict \| ✓ \|/g)).toHaveLength(scenarios.length);
}
