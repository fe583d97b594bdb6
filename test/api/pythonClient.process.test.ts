import { execFile, execFileSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../support/cli.ts';
import { ServiceProcess } from '../support/processes.ts';

const LONG_MS = 600_000;
const quickly = ['--quiet', '--no-compile', '--no-build-isolation', '--check-build-dependencies'];
const run = promisify(execFile);

/** Why the client cannot be tested with the Python that is on the path, if so. */
function missingPython(): string | undefined {
  try {
    const program = 'import pip, sys, venv; sys.exit(sys.version_info < (3, 10))';
    execFileSync('python3', ['-c', program], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'there is no Python 3.10 or later with venv and pip on the path';
  }
}

/** What a command has printed when it ends, and how it does. */
function ended(command: string, args: string[], options = {}): Promise<{ code: number; printed: string }> {
  return run(command, args, options).then(
    ({ stdout }) => ({ code: 0, printed: stdout }),
    ({ code, stdout, stderr }) => ({ code, printed: `${stdout}${stderr}` }),
  );
}

const missing = missingPython();
if (missing) process.stdout.write(`Skipped: the client for Python, for ${missing}.\n`);

test.skipIf(missing)(
  'the client for Python passes its tests, installed into an empty environment',
  async ({ skip }) => {
    const root = temporaryFolder();
    const [environment, home] = [join(root, 'environment'), join(root, 'clients/python')];
    const vectors = 'docs/guides/record-digests.md';
    for (const path of ['clients/python', vectors]) cpSync(path, join(root, path), { recursive: true });
    // Without a pip of its own, and without another environment for the build: these take as long as all else.
    await run('python3', ['-m', 'venv', '--without-pip', environment]);
    const python = join(environment, 'bin/python');
    const pip = (...names: string[]) =>
      ended('python3', ['-m', 'pip', '--python', python, 'install', ...quickly, ...names]);
    if ((await pip('hatchling')).code !== 0) {
      process.stdout.write('Skipped: the client for Python, for pip reaches no packages.\n');
      skip('pip reaches no packages');
    }
    expect(await pip(`${home}[test]`)).toMatchObject({ code: 0 });
    const service = new ServiceProcess({
      ...{ DATA_DIR: join(root, 'data'), RATE_LIMIT_PER_MINUTE: '0' },
      WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
    });
    onTestFinished(async () => {
      await service.end();
    });
    const env = {
      PATH: process.env.PATH,
      CHARTLEDGER_URL: await service.url(),
      CHARTLEDGER_API_KEY: /clk_\w{38}/.exec(service.stderr)?.[0],
    };
    const { code, printed } = await ended(python, ['-m', 'pytest', '--quiet'], { cwd: home, env });
    expect(code, printed).toBe(0);
    expect(printed).toMatch(/\d+ passed in/);
  },
  LONG_MS,
);
