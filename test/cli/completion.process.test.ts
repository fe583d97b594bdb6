import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCli, temporaryFolder } from '../support/cli.ts';

const scriptOf = async (shell: string) => {
  const { code, stdout } = await runCli(['completion', shell]);
  expect(code).toBe(0);
  return stdout;
};

const isInstalled = (shell: string) => spawnSync(shell, ['-c', 'exit 0']).status === 0;

test('bash completes commands, options and their values', async () => {
  const script = await scriptOf('bash');
  /** What bash offers for the last of these words. */
  const offered = (...words: string[]) => {
    const ask = `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _chartledger; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const args = ['-c', `${script}\n${ask}`, 'bash', 'chartledger', ...words];
    return execFileSync('bash', args, { encoding: 'utf8' }).trim().split('\n');
  };
  expect(offered('wor')).toEqual(['workspaces']);
  expect(offered('keys', 'cr')).toEqual(['create']);
  expect(offered('keys', 'create', '--perm')).toEqual(['--permissions']);
  expect(offered('keys', 'create', '--workspace', 'clinic', '--na')).toEqual(['--name']);
  expect(offered('listen', '--payload', '')).toEqual(['reference', 'full', 'limited', 'deidentified']);
  expect(offered('records', 'get', 'pa')).toEqual(['payer', 'patient']);
  expect(offered('import', '--key-file', '')).toEqual(['']);
  expect(offered('keys', '--nothing-begins-so')).toEqual(['']);
});

test('bash tells the script apart by the name of the command', async () => {
  const file = join(temporaryFolder(), 'completion.bash');
  writeFileSync(file, await scriptOf('bash'));
  const told = execFileSync('bash', ['-c', `. "$1"; complete -p chartledger`, 'bash', file], {
    encoding: 'utf8',
  });
  expect(told).toBe('complete -o default -F _chartledger chartledger\n');
});

test.each(['zsh', 'fish'])(
  '%s can read its script, where it is installed, and finds every command in it',
  async (shell) => {
    const script = await scriptOf(shell);
    for (const command of ['keys create', 'records get', 'events tail', 'completion'])
      expect(script).toContain(`'${command}'`);
    if (!isInstalled(shell)) {
      process.stdout.write(`Not checked: the syntax of the script, as ${shell} is not installed.\n`);
      return;
    }
    const file = join(temporaryFolder(), `completion.${shell}`);
    writeFileSync(file, script);
    expect(spawnSync(shell, ['-n', file], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
  },
);

test('another shell is wrong usage', async () => {
  expect(await runCli(['completion', 'csh'])).toMatchObject({ code: 2, stdout: '' });
});
