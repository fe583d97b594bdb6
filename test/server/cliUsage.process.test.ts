import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { commandProgram } from '../../src/cli/program.ts';
import { runCli, spawnCli, temporaryFolder } from '../support/cli.ts';
import { Client } from '../support/client.ts';
import { nodes, olderNode, ServiceProcess } from '../support/processes.ts';

/** The full names of the commands that do something. */
function runnable(command: Command, path: readonly string[] = []): string[] {
  const within = command.commands.flatMap((child) => runnable(child, [...path, child.name()]));
  return within.length === 0 || command.registeredArguments.length > 0 ? [path.join(' '), ...within] : within;
}

const commands = runnable(await commandProgram());

test.each(commands)('%s has help with an example of its own', async (command) => {
  const { code, stdout } = await runCli([...command.split(' '), '--help']);
  expect(code).toBe(0);
  expect(stdout).toContain(`Usage: chartledger ${command} `);
  expect(stdout).toMatch(new RegExp(`Example:\\n(  \\$ .*\\n)*  \\$ chartledger ${command} ?`));
});

test('the version is the package’s', async () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(await spawnCli(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
});

test('wrong usage ends with 2, says what to do, and touches no store', async () => {
  const folder = temporaryFolder();
  const import_ = ['import', 'x.ndjson', '--format', 'ndjson'];
  const wrong: [string[], string][] = [
    [[], 'Usage: chartledger'],
    [['keyz'], "unknown command 'keyz'"],
    [['keys', 'create'], "required option '--workspace <id>' not specified"],
    [
      ['keys', 'create', '--workspace', 'clinic', '--permissions', 'fly'],
      'Specify one or more of write, read',
    ],
    [['keys', 'create', '--workspace', 'clinic', '--permissions', ''], 'Specify one or more of write, read'],
    [['users', 'create', 'ada'], "required option '--role <role>' not specified"],
    [
      ['users', 'create', 'ada', '--role', 'root'],
      'Specify one of admin, compliance, billing, integrator, auditor, viewer',
    ],
    [
      ['users', 'set-role', 'ada', 'root'],
      'Specify one of admin, compliance, billing, integrator, auditor, viewer',
    ],
    [['keys', 'set', 'key_1'], 'specify what to set: --expires'],
    [['workspaces', 'set', 'clinic'], 'specify what to set: --unchanged, --break-glass, --organization'],
    [['records', 'history', 'patience', 'p', '--workspace', 'c'], 'Allowed choices are payer, patient'],
    [['keys', 'delete'], "missing required argument 'key-id'"],
    [['keys', 'rotate', 'key_1', '--expires', 'soon'], 'Specify a time such as 0s, 30m, 24h or 7d.'],
    [['keys', 'rotate', 'key_1', '--expires', '60'], 'Specify a time such as 0s, 30m, 24h or 7d.'],
    [['workspaces', 'list', '--all'], "unknown option '--all'"],
    [['import', 'x.ndjson'], "required option '--format <format>' not specified"],
    [['import', 'x.ndjson', '--format', 'xml'], 'Allowed choices are synthea, ndjson'],
    [[...import_], 'specify the API key in the environment variable CHARTLEDGER_API_KEY'],
    [[...import_, '--url', 'localhost:3000'], 'Specify an address such as http://127.0.0.1:3000'],
    [['import'], 'specify a file or folder of records, or a folder of documents with --documents'],
    [['import', '--documents', 'x', '--format', 'ndjson'], 'specify the file or folder of records'],
    [['workspaces', 'reset', 'sandbox', '--confirm', 'sandboxes'], '--confirm does not match'],
    [[...import_, '--mapping', 'x.json'], 'cannot be used with option'],
    [[...import_, '--category', 'scan'], 'Allowed choices are radiology_report, lab_results'],
  ];
  for (const [args, message] of wrong) {
    const { code, stdout, stderr } = await runCli(args, { env: { DATA_DIR: join(folder, 'data') } });
    expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: '' });
    expect(stderr).toContain(message);
  }
  expect(readdirSync(folder)).toEqual([]);
});

test('what was given as a key is never shown, be it none', async () => {
  const { code, stdout, stderr } = await spawnCli(['import', 'x', '--format', 'ndjson'], {
    env: { CHARTLEDGER_API_KEY: 'another-secret' },
  });
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('not an API key of Chartledger');
  expect(stderr).not.toContain('another-secret');
});

test('where no service was ever started it makes nothing, unless it is told to', async () => {
  const folder = join(temporaryFolder(), 'data');
  const env = { DATA_DIR: folder };
  const commands = [
    ['keys', 'create', '--create-workspace', '--workspace', 'clinic'],
    ['keys', 'list', '--json'],
    ['users', 'list'],
    ['workspaces', 'create', 'clinic'],
    ['webhooks', 'list', '--workspace', 'clinic'],
    ['projections', 'status'],
    ['secrets', 'show', 'signing'],
  ];
  for (const args of commands) {
    expect(await runCli(args, { env })).toEqual({
      code: 1,
      stdout: '',
      stderr: `There is no event log at ${join(folder, 'events.db')}. Set DATA_DIR or EVENT_LOG_URL to the value that the service uses, or use --init to create one there.\n`,
    });
  }
  expect(existsSync(folder)).toBe(false);
  expect(await runCli(['keys', 'list', '--json', '--init'], { env })).toMatchObject({
    code: 0,
    stdout: '[]\n',
  });
  const place = join(folder, 'events.db');
  expect((await runCli(['keys', 'list'], { env })).stdout).toBe(
    `There are no keys yet in the event log ${place}.\n`,
  );
  expect((await runCli(['workspaces', 'create', 'empty'], { env })).code).toBe(0);
  const created = await runCli(['keys', 'create', '--create-workspace', '--workspace', 'clinic'], { env });
  expect((await runCli(['keys', 'list', '--workspace', 'empty'], { env })).stdout).toBe(
    `Workspace empty has no keys yet in the event log ${place}.\n`,
  );
  expect(created.code).toBe(0);
  expect(created.stdout).toMatch(/shown only now:\n\n {2}clk_\w{38}\n\nIts id is key_\w{16}\./);
  expect(created.stdout).toContain(`\nEvent log: ${place}\n`);
  expect((await runCli(['workspaces', 'list'], { env })).stdout).toMatch(/^clinic +active/m);
});

test('a bad setting is one line and exit code 1', async () => {
  const { code, stderr } = await spawnCli(['keys', 'list'], { env: { PORT: 'high' } });
  expect({ code, stderr }).toEqual({ code: 1, stderr: 'Bad settings: PORT must be a number\n' });
});

(olderNode ? test : test.skip)(
  'what runs before `npm start` says on an older Node what to install',
  async () => {
    const check = (node: string) => spawnSync(node, ['bin/node24.mjs'], { encoding: 'utf8' });
    expect(check(process.execPath)).toMatchObject({ status: 0, stdout: '', stderr: '' });
    const { status, stdout, stderr } = check(olderNode as string);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(
      /^Chartledger needs Node 24 or newer; this is Node [\d.]+\. Install it from [^\n]+\n$/,
    );
  },
);

(olderNode ? test : test.skip)('on an older Node the bundled Node 24 takes over', async () => {
  const env = { DATA_DIR: join(temporaryFolder(), 'data') };
  const listed = await spawnCli(['workspaces', 'list', '--json', '--init'], {
    env,
    node: olderNode as string,
  });
  expect(listed).toEqual({ code: 0, stdout: '[]\n', stderr: '' });
  expect((await spawnCli(['nothing'], { env, node: olderNode as string })).code).toBe(2);
});

test.each(nodes)('`chartledger serve` runs the service, on %s too', async (program) => {
  const env = { DATA_DIR: join(temporaryFolder(), 'data') };
  const service = new ServiceProcess(env, { command: [program, 'bin/chartledger.mjs', 'serve'] });
  const key = await service.url().then(() => /clk_\w{38}/.exec(service.stderr)?.[0]);
  const listed = await spawnCli(['keys', 'list', '--json'], { env });
  expect(JSON.parse(listed.stdout)).toHaveLength(1);
  expect((await new Client(await service.url(), key).get('/integration/payers')).status).toBe(200);
  service.child.kill('SIGUSR2');
  expect((await service.end()).code).toBe(0);
});

test('a proof of a document asks for its encounter, and any other does without', async () => {
  const versioned = ['id', '--workspace', 'clinic', '--version', '1'];
  for (const [kind, others, told] of [
    ['document', [], 'specify the encounter of the document with --encounter'],
    ['payer', ['--encounter', 'e'], '--encounter is only for the kind document'],
  ] as const) {
    const { code, stderr } = await spawnCli(['records', 'prove', kind, ...versioned, ...others]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(told) });
  }
});
