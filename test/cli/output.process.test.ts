import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { runCli, temporaryFolder } from '../support/cli.ts';
import { compileCache } from '../support/vitest.ts';

const LONG_MS = 60_000;
const folder = temporaryFolder();
const env = { PATH: process.env.PATH ?? '', DATA_DIR: folder, ...compileCache };
const bin = join(process.cwd(), 'bin/chartledger.mjs');

beforeAll(async () => {
  expect(await runCli(['workspaces', 'create', 'clinic', '--init'], { env })).toMatchObject({ code: 0 });
});

/** Runs a line of bash in which `c` is `chartledger`; `code` is the exit code of its first command. */
function inBash(line: string): Promise<{ code: number; stderr: string }> {
  const script = `c() { '${process.execPath}' '${bin}' "$@"; }\n${line}\nexit "\${PIPESTATUS[0]}"`;
  return new Promise((resolve) => {
    execFile('bash', ['--norc', '-c', script], { env }, (error, _stdout, stderr) => {
      resolve({ code: Number(error?.code ?? 0), stderr });
    });
  });
}

test.each(['c keys list', 'c --help', 'c workspaces list --json', 'c keys create --workspace clinic'])(
  'a reader that has had enough of the output is no failure: %s',
  async (command) => {
    expect(await inBash(`${command} | true`)).toEqual({ code: 0, stderr: '' });
  },
  LONG_MS,
);

test(
  'output that cannot be written fails the command, which says so in a line',
  async () => {
    const said = 'The output cannot be written (ENOSPC).\n';
    expect(await inBash('c keys list > /dev/full')).toEqual({ code: 1, stderr: said });
    expect(await inBash('c export --workspace clinic --format csv > /dev/full')).toEqual({
      code: 1,
      stderr: said,
    });
  },
  LONG_MS,
);
