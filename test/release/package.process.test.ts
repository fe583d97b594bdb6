import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { temporaryFolder } from '../support/cli.ts';
import { Client } from '../support/client.ts';
import { installPacked, nodes, ServiceProcess } from '../support/processes.ts';
import { samples } from '../support/samples.ts';

const INSTALL_MS = 300_000;

/** What is needed to pack. */
const packed = [
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'src',
  'projections',
  'assets',
  'bin',
];

const run = promisify(execFile);
let application: string;

beforeAll(async () => {
  application = await installPacked('.', packed);
}, INSTALL_MS);

test.each(nodes)(
  'the package, installed into an empty folder, serves and runs commands on %s',
  async (node) => {
    const command = join(application, 'node_modules/.bin/chartledger');
    const env = { DATA_DIR: join(temporaryFolder(), 'data') };
    const service = new ServiceProcess(env, { command: [node, command, 'serve'] });
    const url = await service.url();
    const key = /clk_\w{38}/.exec(service.stderr)?.[0];
    const payer = samples.payer();
    const client = new Client(url, key);
    expect((await client.post('/integration/payers', payer)).status).toBe(200);
    const { stdout } = await run(
      node,
      [command, 'history', 'payer', payer.id, '--workspace', 'default', '--format', 'json'],
      { env },
    );
    expect(JSON.parse(stdout)).toMatchObject([{ version: 1, outcome: 'created' }]);
    // What a command compiled is there for the next one, within the package.
    const compiled = join(application, 'node_modules/chartledger/node_modules/.cache/compiled');
    expect(readdirSync(compiled)).not.toEqual([]);
    // What only some requests load: the page of a browser, the event stream's thread.
    expect((await client.get('/dashboard/sign-in')).status).toBe(200);
    expect((await service.end()).code).toBe(0);
  },
);
