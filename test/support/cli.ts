import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { runCommand } from '../../src/cli/program.ts';
import type { Config } from '../../src/platform/config.ts';
import { runOn, type Terminal } from '../../src/server/terminal.ts';
import { retryWhileLagging } from './client.ts';
import type { TestService } from './service.ts';
import { compileCache } from './vitest.ts';

export interface CliResult {
  /** Exit code; null when a signal ended the process. */
  code: number | null;
  stdout: string;
  stderr: string;
}

interface CliOptions {
  env?: Record<string, string>;
  /** Standard input; default: none. */
  input?: string;
}

interface ProcessOptions extends CliOptions {
  /** Where it runs; default: the working directory. */
  cwd?: string;
  /** The Node that the command is started with; default: the one that runs the tests. */
  node?: string;
  /** Called with standard error as it comes. */
  onStderr?: (text: string, kill: (signal: NodeJS.Signals) => void) => void;
  /** Kills it (SIGKILL). */
  kill?: AbortSignal;
  /** The user that it runs as; default: the one of the tests. */
  uid?: number | undefined;
}

/** Nothing of the surrounding environment but the path. */
const surroundings = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' };

class Collected extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk;
    done();
  }
}

/** Runs a command of `chartledger` within this process, and waits for its end; again while read models lag (`retryWhileLagging`). */
export function runCli(args: string[], options: CliOptions = {}): Promise<CliResult> {
  return retryWhileLagging(
    () => runOnce(args, options),
    ({ stderr }) => stderr.replace(/^The service at \S+ cannot respond at the moment \(503\): /, ''),
  );
}

async function runOnce(args: string[], { env = {}, input }: CliOptions): Promise<CliResult> {
  const stdout = new Collected();
  const stderr = new Collected();
  const stdin = Readable.from(input === undefined ? [] : [input]);
  const terminal: Terminal = { env: { ...surroundings, ...env }, stdin, stdout, stderr };
  await runOn(terminal, () => runCommand(args));
  return { code: Number(terminal.exitCode ?? 0), stdout: stdout.text, stderr: stderr.text };
}

const bin = join(process.cwd(), 'bin/chartledger.mjs');

/** Runs `chartledger` as a process, and waits for its end. */
export function spawnCli(args: string[], options: ProcessOptions = {}): Promise<CliResult> {
  const child = spawn(options.node ?? process.execPath, [bin, ...args], {
    env: { ...surroundings, ...compileCache, ...options.env },
    cwd: options.cwd ?? process.cwd(),
    ...(options.uid !== undefined && { uid: options.uid }),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // A command that ended without reading is told by its exit code.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input);
  options.kill?.addEventListener('abort', () => child.kill('SIGKILL'), { once: true });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
    options.onStderr?.(stderr, (signal) => child.kill(signal));
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
}

/** The settings with which a command works on the stores of a service. */
export function storesOf(config: Config): Record<string, string> {
  return {
    EVENT_LOG_URL: config.eventLogUrl,
    READ_MODEL_URL: config.readModelUrl,
    STATE_URL: config.stateUrl,
    DOCUMENTS_URL: config.documentsUrl,
    DEIDENTIFICATION_KEY: config.deidentificationKey ?? '',
    WEBHOOK_SECRETS_KEY: config.webhookSecretsKey ?? '',
    TOTP_SECRETS_KEY: config.totpSecretsKey ?? '',
    SIGNING_KEY: config.signingKey ?? '',
  };
}

/** An empty folder, which goes with all other temporary files at the end of the run. */
export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'chartledger-cli-'));
}

/** Runs a command on the stores of a service, for its workspace `clinic`. */
export function runInWorkspace(
  { config, workspaceId }: Pick<TestService, 'config' | 'workspaceId'>,
  ...args: string[]
): Promise<CliResult> {
  return runCli([...args, '--workspace', workspaceId('clinic')], {
    env: { ...storesOf(config), DATA_DIR: config.dataDir },
  });
}
