import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../support/cli.ts';
import { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { nodes, ServiceProcess } from '../support/processes.ts';
import { freePort } from '../support/servers.ts';

const LONG_MS = 300_000;
const home = 'clients/typescript';
const run = promisify(execFile);
let application: string;

/** Installs the client as its README says, from a checkout in which nothing was installed. */
beforeAll(async () => {
  const root = temporaryFolder();
  const checkout = join(root, 'chartledger', home);
  for (const name of ['package.json', 'README.md', 'tsconfig.json', 'tsconfig.build.json', 'src', 'examples'])
    cpSync(join(home, name), join(checkout, name), { recursive: true });
  application = join(root, 'application');
  mkdirSync(application);
  writeFileSync(join(application, 'package.json'), '{"private": true, "type": "module"}');
  const readme = readFileSync(join(home, 'README.md'), 'utf8');
  const [, command = ''] = /^```sh\n(.*?)^```/ms.exec(readme) ?? [];
  const env = { ...process.env, npm_config_prefer_offline: 'true', npm_config_audit: 'false' };
  await run('bash', ['-c', command], { cwd: application, env });
  cpSync(join(home, 'examples'), application, { recursive: true });
}, LONG_MS);

test('the package holds what its users need, and needs openapi-fetch alone', () => {
  const installed = join(application, 'node_modules/chartledger-client');
  expect(readdirSync(installed).toSorted()).toEqual(['README.md', 'dist', 'package.json']);
  const { dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  expect(Object.keys(dependencies)).toEqual(['openapi-fetch']);
});

test.each(nodes)('it is imported by plain programs on %s', async (node) => {
  const program = `import * as client from 'chartledger-client'; console.log(Object.keys(client).join())`;
  const { stdout } = await run(node, ['--input-type=module', '-e', program], { cwd: application });
  expect(stdout).toBe('Chartledger,ChartledgerError,recordDigest,verifyWebhook\n');
});

describe('its types', () => {
  const head = `
import { type BatchLine, Chartledger, ChartledgerError, verifyWebhook } from 'chartledger-client';
const chartledger = new Chartledger({ url: 'http://127.0.0.1', apiKey: 'clk_' });
const ann = { id: 'patient-1', first_name: 'Ann', last_name: 'Lee', date_of_birth: '1990-01-02' };
`;
  const good = `
const { version, outcome } = await chartledger.payers.upsert({ id: 'payer-1', name: 'Aetna' }, { if_match: 1 });
const lines: BatchLine[] = [{ kind: 'patient', record: ann }, { kind: 'payer', record: { id: '1', name: 'Aetna' } }];
for await (const { line, status } of chartledger.batch(lines)) console.log(line + status, version, outcome);
for await (const { record } of chartledger.encounters.list({ limit: 10 })) console.log(record.patient_id);
for await (const event of chartledger.events({ kinds: ['payer', 'document'] })) {
  if (event.type === 'chartledger.patient.upserted.v1') console.log(event.data.sent.primary_insurance?.payer_id);
  if (event.type === 'chartledger.document.uploaded.v1') console.log(event.data.sent.filename);
}
const message = await verifyWebhook({ secret: 'whsec_', headers: new Headers(), body: '' });
if (message.type === 'chartledger.webhook.ping.v1') console.log(message.data.webhook_id);
chartledger.patients.read('patient-1').catch((error) => error instanceof ChartledgerError && error.details[0]?.field);
const page = await chartledger.request((api) => api.GET('/integration/webhooks'));
console.log(page.items[0]?.url);
for await (const { items, headers, counts } of chartledger.encounters.worklist({ state: 'blocked' }).pages())
  console.log(items[0]?.findings, headers.get('chartledger-position'), counts?.states.ready);
for await (const { record } of await chartledger.snapshot('patient')) console.log(record.last_name);
const { data, response } = await chartledger.send((api) => api.GET('/integration/webhooks'));
console.log(data.items, response.status);
`;
  /** Each does not compile. */
  const wrong = [
    `await chartledger.payers.upsert({ id: 'payer-1' });`,
    `await chartledger.payers.upsert({ id: 'payer-1', name: 'Aetna', first_name: 'Ann' });`,
    `await chartledger.patients.upsert({ ...ann, gender: 'unknown' });`,
    `await chartledger.patients.upsert({ ...ann, primary_insurance: { policy_number: '1' } });`,
    `await chartledger.payers.upsert({ id: 'payer-1', name: 'Aetna' }, { if_match: 'latest' });`,
    `chartledger.batch([{ kind: 'payer', record: ann }]);`,
    `chartledger.events({ kinds: ['claim'] });`,
    `chartledger.events({ types: ['chartledger.payer.created.v1'] });`,
    `chartledger.payers.list({ colour: 'red' });`,
    `chartledger.snapshot('claim');`,
    `await chartledger.documents.upload('1', { document_id: '1', category: 'poem', file: new Blob() });`,
    `for await (const { data } of chartledger.events({ view: 'deidentified' })) console.log(data.sent.last_name);`,
    `new Chartledger({ url: 'http://127.0.0.1' });`,
  ];

  test(
    'take what is right, and refuse what is wrong',
    async () => {
      const marked = wrong.map((line) => `// @ts-expect-error\n${line}`);
      writeFileSync(join(application, 'program.ts'), head + good + marked.join('\n'));
      const compilerOptions = {
        ...{ strict: true, exactOptionalPropertyTypes: true, noEmit: true, target: 'es2022' },
        ...{ module: 'nodenext', types: [], lib: ['es2022', 'dom', 'dom.iterable'] },
      };
      writeFileSync(
        join(application, 'tsconfig.json'),
        JSON.stringify({ compilerOptions, files: ['program.ts'] }),
      );
      const tsc = resolve('node_modules/typescript/bin/tsc');
      const done = await run(process.execPath, [tsc, '-p', application, '--pretty', 'false']).catch(
        ({ stdout }) => ({ stdout }),
      );
      expect(done.stdout).toBe('');
    },
    LONG_MS,
  );
});

describe('its examples', () => {
  let service: ServiceProcess;
  let env: Record<string, string>;
  let client: Client;
  const running: ChildProcess[] = [];
  beforeAll(async () => {
    service = new ServiceProcess({
      ...{ DATA_DIR: join(temporaryFolder(), 'data'), RATE_LIMIT_PER_MINUTE: '0' },
      WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
    });
    const url = await service.url();
    const key = /clk_\w{38}/.exec(service.stderr)?.[0] as string;
    client = new Client(url, key);
    env = { CHARTLEDGER_URL: url, CHARTLEDGER_API_KEY: key };
  }, LONG_MS);
  afterEach(async () => {
    while (running.length > 0) await killLast();
  });
  afterAll(() => service.end());

  async function killLast(): Promise<void> {
    const child = running.pop() as ChildProcess;
    child.kill('SIGKILL');
    await once(child, 'close');
  }

  /** Starts an example; gives what it has printed so far. */
  function startExample(name: string, more: Record<string, string> = {}): () => string {
    const child = spawn(process.execPath, [name], { cwd: application, env: { ...env, ...more } });
    running.push(child);
    let printed = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        printed += chunk;
      });
    }
    return () => printed;
  }

  const runExample = async (name: string, ...args: string[]) =>
    (await run(process.execPath, [name, ...args], { cwd: application, env })).stdout;

  test('send records', async () => {
    expect(await runExample('send-records.ts')).toBe('version 1, 0 warnings\n');
    expect(readFileSync(join(home, 'README.md'), 'utf8')).toContain(
      readFileSync(join(home, 'examples/send-records.ts'), 'utf8'),
    );
  });

  test('send a batch', async () => {
    const lines = ['Humana', '', 'Cigna'].map((name, index) =>
      JSON.stringify({ kind: 'payer', record: { id: `batch-${index}`, name } }),
    );
    writeFileSync(join(application, 'payers.ndjson'), lines.join('\n'));
    const printed = await runExample('send-batch.ts', 'payers.ndjson');
    expect(printed).toMatch(/^line 2: Validation failed: name .*\n2 stored\n$/);
  });

  test(
    'follow events, and go on where they stopped',
    async () => {
      const send = (city: string) =>
        client.post('/integration/payers', { id: 'followed', name: 'Aetna', city });
      await send('Omaha');
      const first = startExample('follow-events.ts');
      await eventually(() => expect(first()).toContain('payer/followed version 1: city, id, name\n'));
      await send('Lincoln');
      // The position of an event is kept when the next one is asked for.
      await eventually(() => {
        expect(first()).toContain('payer/followed version 2: city\n');
        expect(Number(readFileSync(join(application, 'position.txt'), 'utf8'))).toBeGreaterThan(0);
      });
      await killLast();
      await send('Kearney');
      const second = startExample('follow-events.ts');
      await eventually(() => expect(second()).toContain('payer/followed version 3: city\n'));
      expect(second()).not.toContain('payer/followed version 1');
    },
    LONG_MS,
  );

  test(
    'receive webhooks',
    async () => {
      const port = await freePort();
      const { body } = await client.post('/integration/webhooks', { url: `http://127.0.0.1:${port}/` });
      const printed = startExample('receive-webhooks.ts', {
        WEBHOOK_SECRET: body.secret,
        PORT: String(port),
      });
      await eventually(() => fetch(`http://127.0.0.1:${port}/`));
      await client.post(`/integration/webhooks/${body.id}/ping`, {});
      await eventually(() => expect(printed()).toMatch(/^msg_\S+ chartledger\.webhook\.ping\.v1\n$/));
    },
    LONG_MS,
  );
});
