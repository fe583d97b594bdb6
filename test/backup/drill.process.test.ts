import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type CliResult, runCli, spawnCli, temporaryFolder } from '../support/cli.ts';
import { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { filesIn } from '../support/files.ts';
import { eventsOf } from '../support/log.ts';
import { ServiceProcess } from '../support/processes.ts';
import { samples } from '../support/samples.ts';
import { createWebhook, HookEndpoint, openLoopback } from '../support/webhooks.ts';

const LONG_MS = 300_000;
const PAYERS = '/integration/payers';
const PATIENTS = '/integration/patients';
const running: ServiceProcess[] = [];
const endpoints: HookEndpoint[] = [];
afterEach(async () => {
  for (const process of running.splice(0)) await process.end('SIGKILL');
  for (const endpoint of endpoints.splice(0)) await endpoint.down();
});

/** A consumer of the event stream that keeps its own table: the subjects that it was told, and how far it is. */
class Consumer {
  readonly subjects: string[] = [];
  after = '0';

  /** Takes what there is; the answer that it could not go on by. */
  async read(client: Client) {
    for (;;) {
      const page = await client.get(`/events?after=${this.after}&limit=100`);
      if (page.status !== 200) return page;
      const events = eventsOf(page);
      if (events.length === 0) return undefined;
      this.subjects.push(...events.map(({ subject }) => subject ?? ''));
      this.after = events.at(-1)?.sequence ?? this.after;
    }
  }
}

/** Writes payers without a pause until `stop`, which gives the ids of those that were acknowledged. */
function load(client: Client) {
  const acknowledged: string[] = [];
  let stopped = false;
  const writing = Array.from({ length: 2 }, async () => {
    while (!stopped) {
      const payer = samples.payer();
      const { status } = await client.post(PAYERS, payer).catch(() => ({ status: 0 }));
      if (status === 200) acknowledged.push(payer.id);
    }
  });
  return {
    acknowledged,
    async stop() {
      stopped = true;
      await Promise.all(writing);
      return acknowledged;
    },
  };
}

test(
  'the drill: a service that is used dies, comes back from its backup, and everybody goes on from where they stand',
  async () => {
    const [dataDir, backup] = [join(temporaryFolder(), 'data'), join(temporaryFolder(), 'backup')];
    const [heads, passphrase] = [join(temporaryFolder(), 'heads'), join(temporaryFolder(), 'passphrase')];
    mkdirSync(heads);
    writeFileSync(passphrase, 'correct horse battery staple');
    const settings = { ...openLoopback, RATE_LIMIT_PER_MINUTE: '0', HEADS_TO: heads };
    const start = async (DATA_DIR: string, key?: string) => {
      const process = new ServiceProcess({ ...settings, DATA_DIR });
      running.push(process);
      const url = await process.url();
      return { process, client: new Client(url, key ?? /x-api-key: (clk_\w+)/.exec(process.stderr)?.[1]) };
    };
    const secret = ['--passphrase-file', passphrase];
    const cli = async (...args: string[]): Promise<CliResult> => {
      const result = await runCli(args, { env: { ...settings, DATA_DIR: dataDir } });
      expect({ args, ...result }).toMatchObject({ args, code: 0, stderr: '' });
      return result;
    };
    const endpoint = await HookEndpoint.open();
    endpoints.push(endpoint);
    const told = () => endpoint.accepted.map(({ subject }) => subject);

    const first = await start(dataDir);
    const { client } = first;
    await createWebhook(client, { url: endpoint.url, start: 'beginning' });
    const patient = samples.patient();
    await client.post(PATIENTS, patient);
    const head = join(temporaryFolder(), 'head.json');
    await eventually(() => cli('verify', '--workspace', 'default', '--save-head', head));
    await cli('backup', backup, ...secret);

    // The next backup is taken under load, while messages wait for a webhook's endpoint that is away; and is killed once.
    const writing = load(client);
    await eventually(() => expect(writing.acknowledged.length).toBeGreaterThan(50));
    await endpoint.down();
    const enough = writing.acknowledged.length + 50;
    await eventually(() => expect(writing.acknowledged.length).toBeGreaterThan(enough));
    const env = { ...settings, DATA_DIR: dataDir };
    await spawnCli(['backup', backup, ...secret], { env, kill: AbortSignal.timeout(700) });
    const before = [...writing.acknowledged];
    const end = /up to position (\d+)/.exec((await cli('backup', backup, ...secret)).stdout)?.[1] as string;
    await cli('backup', 'verify', backup, ...secret);

    // What comes now is lost, but for the erasure.
    const written = await writing.stop();
    await cli(
      ...[
        'records',
        'erase',
        'patient',
        patient.id,
        '--workspace',
        'default',
        '--reason',
        'Request 2026-117',
      ],
    );
    const notices = () => readdirSync(heads).filter((name) => name.startsWith('erasures.'));
    await eventually(
      () =>
        expect(
          notices()
            .map((name) => readFileSync(join(heads, name), 'utf8'))
            .join(),
        ).toContain('erasure_id'),
      60_000,
    );
    const consumer = new Consumer();
    expect(await consumer.read(client)).toBeUndefined();
    expect(consumer.subjects).toContain(`payer/${written.at(-1)}`);
    await first.process.end('SIGKILL');
    rmSync(dataDir, { recursive: true });

    // A restore that is killed is not served, and is run again.
    const elsewhere = join(temporaryFolder(), 'data');
    const restore = ['restore', backup, '--data-dir', elsewhere, ...secret];
    const kill = new AbortController();
    const restoring = spawnCli(restore, { env: settings, kill: kill.signal });
    const marker = () => expect(readdirSync(elsewhere)).toContain('restore-under-way');
    await eventually(marker, 60_000);
    kill.abort();
    expect((await restoring).code).toBeNull();
    const half = new ServiceProcess({ ...settings, DATA_DIR: elsewhere });
    expect((await half.exit()).stderr).toContain('was not completed. Run it again: chartledger restore.');
    const { stdout } = await cli(...restore);
    expect(stdout).toContain('Erased again, as notices of erasures say: 1 records and documents.');
    expect(filesIn(elsewhere).filter(([, bytes]) => bytes.includes(patient.last_name))).toEqual([]);

    await endpoint.up();
    const again = await start(elsewhere, /x-api-key: (clk_\w+)/.exec(first.process.stderr)?.[1]);
    for (const id of before) expect((await again.client.get(`${PAYERS}/${id}`)).status).toBe(200);
    expect((await again.client.get(`${PATIENTS}/${patient.id}`)).status).toBe(410);
    const fresh = samples.payer();
    expect((await again.client.post(PAYERS, fresh)).status).toBe(200);

    // The consumer is told where it stands, and goes on: what it knows beyond that is not in the log any more.
    const gone = await consumer.read(again.client);
    expect(gone).toMatchObject({ status: 410, body: { code: 'position_gone' } });
    expect(Number(gone?.body.last_position)).toBeLessThanOrEqual(Number(end));
    consumer.after = gone?.body.last_position;
    consumer.subjects.length = 0;
    expect(await consumer.read(again.client)).toBeUndefined();
    expect(consumer.subjects).toEqual([`patient/${patient.id}`, `payer/${fresh.id}`]);

    // The webhook is told everything that the log holds.
    await eventually(() => {
      expect(before.filter((id) => !told().includes(`payer/${id}`))).toEqual([]);
      expect(told()).toContain(`payer/${fresh.id}`);
      expect(endpoint.accepted.map(({ type }) => type)).toContain('chartledger.patient.erased.v1');
    }, 120_000);
    const verified = await runCli(['verify', '--workspace', 'default', '--head', head], {
      env: { ...settings, DATA_DIR: elsewhere },
    });
    expect(verified).toMatchObject({ code: 0, stderr: '' });
  },
  LONG_MS,
);
