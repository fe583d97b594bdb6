import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { permissions } from '../../src/modules/auth/permissions.ts';
import { type CliResult, runCli, temporaryFolder } from '../support/cli.ts';
import { Client } from '../support/client.ts';
import { ServiceProcess } from '../support/processes.ts';

const LONG_MS = 120_000;

/** What readers run from, in an order in which the later ones find what the earlier ones made; the first two begin. */
const files = [
  'README.md',
  'docs/getting-started/quick-start.md',
  ...globSync('docs/{getting-started,guides,concepts,operate}/*.md')
    .filter((file) => !file.endsWith('/quick-start.md'))
    .toSorted(),
];

/** Every shell block of these files, with where it is, and the response that stands right below it. */
const blocks = files.flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(/^```sh\n(.*?)^```(?:\n\n```json\n(.*?)^```)?/gms)].map(
    ([, text = '', response]) => ({ file, text, response }),
  ),
);

/** What is not run here, and why not. */
const elsewhere: [text: string, reason: string][] = [
  ['npm install && npm start', 'the first start has tests of its own'],
  ['examples/webhook-receiver.mjs', 'the receiver has a test of its own'],
  ['npm start     # for development', 'starts a service'],
  [',mllp npm start', 'starts a service'],
  ['chartledger watch ', 'runs until it is stopped, and has tests of its own'],
  ['chartledger mcp ', 'runs until it is stopped, and has tests of its own'],
  ['chartledger pull fhir', 'needs an EMR, and has tests of its own'],
  ['readiness answer facility_tax_id', 'the findings are made up'],
  ['audit judge ROW', 'the row is made up'],
  ['set-billing-entity provider --facility', 'the facility is made up'],
  ['apt-get', 'changes the machine'],
  ['adduser', 'changes the machine'],
  ['systemctl', 'needs systemd'],
  ['journalctl', 'needs systemd'],
  ['docker run', 'needs Docker'],
  ['docker compose', 'needs Docker'],
  ['openssl x509 -in client.crt', 'the certificate is that of a sender'],
  ['code-sets load nucc', 'the files are those of their publishers'],
  ...(hasDuckDb() ? [] : ([['duckdb -csv', 'duckdb is not on the path']] as [string, string][])),
];

function hasDuckDb(): boolean {
  try {
    execFileSync('duckdb', ['-c', 'SELECT 1'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** What a reader has that the examples speak of: commands and somebody's password; beside the variables `KEY` and `URL`. */
const prelude = `
set -euo pipefail
npx() {
  [ "$1 $2" = '--no-install chartledger' ] || { command npx "$@"; return; }
  shift 2
  local input=''
  case "$*" in
    *--password-stdin*) input=$(cat) ;;
    listen*|'events tail'*) timeout --preserve-status -s INT 5 "$NODE" "$BIN" "$@" || [ $? -eq 130 ]; return ;;
    *'users create'*|*'users set-password'*) input='a password of ada 91'; set -- "$@" --password-stdin ;;
  esac
  eval "$(printf '%s\\0' "\${CHARTLEDGER_API_KEY-}" "$input" "$@" | command curl -sS --data-binary @- "$COMMANDS")"
}
curl() {
  local live=''
  [ "$1" != -N ] || live=1
  if [ -n "$live" ]; then command curl -sS --fail-with-body --max-time 2 "$@" || [ $? -eq 28 ]
  else command curl -sS --fail-with-body "$@"; fi
}
pass() { printf 'a password of ben 73'; }
`;

let service: ServiceProcess;
let url: string;
let key: string;
const folder = temporaryFolder();
const dataDir = join(folder, 'data');

/** Runs a command in this process, in the reader's folder. */
async function command(args: string[], env: Record<string, string> = {}, input = ''): Promise<CliResult> {
  const before = process.cwd();
  process.chdir(folder);
  return runCli(args, { env: { DATA_DIR: dataDir, ...env }, input }).finally(() => process.chdir(before));
}

/** What a command prints that works. */
async function printed(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await command(args);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return stdout;
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** Runs the commands of the examples, each in a tenth of the processor time of a process; the shell does what it answers. */
const commands = createServer(async (request, response) => {
  const [key = '', input, ...args] = (await text(request)).split('\0').slice(0, -1);
  const env = { CHARTLEDGER_URL: url, ...(key && { CHARTLEDGER_API_KEY: key }) };
  const { code, stdout, stderr } = await command(args, env, input);
  response.end(`printf %s ${quoted(stdout)}; printf %s ${quoted(stderr)} >&2; return ${code}`);
});

/** Runs a script as a reader would; rejects with what it said when a line of it fails. */
async function run(script: string): Promise<string> {
  const env = {
    ...process.env,
    DATA_DIR: dataDir,
    NODE: process.execPath,
    BIN: resolve('bin/chartledger.mjs'),
    COMMANDS: `http://127.0.0.1:${(commands.address() as AddressInfo).port}`,
    KEY: key,
    URL: url,
    CHARTLEDGER_URL: url,
  };
  const child = spawn('bash', ['-c', prelude + script], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk;
    });
  }
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`exit code ${code}: ${output}`);
  return output;
}

beforeAll(async () => {
  service = new ServiceProcess({ DATA_DIR: dataDir, RATE_LIMIT_PER_MINUTE: '0' });
  url = await service.url();
  await once(commands.listen(0, '127.0.0.1'), 'listening');
  key = await keyOf('clinic', permissions.join());
  writeFileSync(join(folder, 'zcta-population.csv'), 'zcta,population\n68102,20001\n');
  const csv = join(folder, 'synthea');
  mkdirSync(csv);
  writeFileSync(
    join(csv, 'payers.csv'),
    'Id,NAME,OWNERSHIP,ADDRESS,CITY,STATE_HEADQUARTERED,ZIP,PHONE\npayer-2,Humana,PRIVATE,,,,,\n',
  );
}, LONG_MS);
afterAll(() => {
  commands.close();
  return service.end();
});

/** The id of what a command makes for the workspace `clinic`. */
async function made(id: RegExp, ...args: string[]): Promise<string> {
  return id.exec(await printed(...args, '--workspace', 'clinic'))?.[0] as string;
}

const freshKey = () => made(/key_\w+/, 'keys', 'create', '--name', 'Fresh', '--permissions', 'write');
const freshWebhook = () =>
  made(/wh_\w+/, 'webhooks', 'create', '--url', 'https://billing.example.com/webhooks');

/** The key of a new workspace. */
async function keyOf(workspace: string, permissions: string): Promise<string> {
  const options = ['--create-workspace', '--name', 'Reader', '--permissions', permissions];
  const made = await printed('keys', 'create', '--workspace', workspace, ...options);
  return /clk_\w{38}/.exec(made)?.[0] as string;
}

/** A text with something new in each place of a placeholder. */
async function filled(text: string, placeholder: RegExp, make: () => Promise<string>): Promise<string> {
  const [first = '', ...others] = text.split(placeholder);
  let result = first;
  for (const other of others) result += (await make()) + other;
  return result;
}

/** An example with a reader's own ids, keys, addresses and moments. */
async function asReader(block: string): Promise<string> {
  const ofNow = block
    .replaceAll('http://127.0.0.1:3000', url)
    .replaceAll(/clk_…/g, '"$KEY"')
    .replaceAll(/(as[-_]of[= ])[-\dT:]+Z/g, `$1${new Date().toISOString()}`);
  return filled(await filled(ofNow, /wh_\w+/, freshWebhook), /KEY_ID/, freshKey);
}

/** An export with four patients in seven versions: one that moved, one without a state; in a workspace of its own. */
async function exportPatients(): Promise<void> {
  const client = new Client(url, await keyOf('ducks', 'write'));
  const named = { first_name: 'Ann', last_name: 'Lee', date_of_birth: '1990-01-02' };
  const states = [['NE', 'CT', undefined], ['NE'], ['MA', 'NE'], [undefined]];
  for (const [index, versions] of states.entries()) {
    for (const state of versions) {
      const patient = { ...named, id: `duck-${index}`, state };
      expect((await client.post('/integration/patients', patient)).status).toBe(200);
    }
  }
  await printed('export', '--workspace', 'ducks', '--format', 'ndjson', '--out', 'clinic.ndjson', '--force');
}

/** Three claims that two payers denied, in the warehouse of the workspace of the examples. */
async function denyClaims(): Promise<void> {
  const client = new Client(url, key);
  const post = async (path: string, body: object) => expect((await client.post(path, body)).status).toBe(200);
  const named = { first_name: 'Ann', last_name: 'Lee', date_of_birth: '1990-01-02' };
  for (const [index, name] of ['Ducks Mutual', 'Ducks Mutual', 'Geese Health'].entries()) {
    const [payer_id, patient_id, id] = ['payer', 'patient', 'encounter'].map(
      (kind) => `denied-${kind}-${index}`,
    );
    await post('/integration/payers', { id: payer_id, name });
    await post('/integration/patients', { ...named, id: patient_id, primary_insurance: { payer_id } });
    await post('/integration/encounters', { id, patient_id });
    const billed = `/integration/encounters/${id}/billed`;
    await post(billed, { claim_id: `claim-${index}` });
    await post(`${billed}/claim-${index}/outcome`, { source: '835', outcome: 'denied' });
  }
  await printed('sink', 'parquet', 'warehouse', '--workspace', 'clinic');
}

test.each(blocks.map(({ file, text, response }) => [file, text.split('\n')[0], text, response] as const))(
  '%s: the block that begins with %s runs, and gets the response below it',
  async (_file, _first, block, response) => {
    const skipped = elsewhere.find(([text]) => block.includes(text));
    if (skipped) {
      process.stdout.write(`Not run: ${skipped[1]}.\n`);
      return;
    }
    const isDenials = block.includes("'denied'");
    if (isDenials) await denyClaims();
    else if (block.startsWith('duckdb')) await exportPatients();
    if (block.includes('workspaces delete old_clinic')) await printed('workspaces', 'create', 'old_clinic');
    const output = await run(await asReader(block));
    if (block.includes('workspaces deactivate clinic')) await printed('workspaces', 'activate', 'clinic');
    if (response !== undefined) expect(output).toContain(JSON.stringify(JSON.parse(response)));
    if (isDenials) expect(output).toBe('payer,denials\nDucks Mutual,2\nGeese Health,1\n');
    else if (block.startsWith('duckdb')) expect(output).toBe('state,patients\nCT,1\nNE,2\n');
  },
  LONG_MS,
);

test('what is not run is there', () => {
  for (const [text] of elsewhere)
    expect(blocks.map((block) => block.text)).toContainEqual(expect.stringContaining(text));
});
