import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { runCli, spawnCli, temporaryFolder } from '../support/cli.ts';
import { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { ServiceProcess } from '../support/processes.ts';
import { samples } from '../support/samples.ts';

const LONG_MS = 300_000;
const PAYERS = '/integration/payers';
const running: ServiceProcess[] = [];
afterEach(async () => {
  for (const process of running.splice(0)) await process.end('SIGKILL');
});

async function start(dataDir: string): Promise<{ url: string; process: ServiceProcess }> {
  const process = new ServiceProcess({ DATA_DIR: dataDir, RATE_LIMIT_PER_MINUTE: '0' });
  running.push(process);
  return { url: await process.url(), process };
}

test(
  'a service under load is backed up, also where backups are killed, dies, and is restored elsewhere as it was',
  async () => {
    const dataDir = join(temporaryFolder(), 'data');
    const backup = join(temporaryFolder(), 'backup');
    const passphrase = join(temporaryFolder(), 'passphrase');
    writeFileSync(passphrase, 'correct horse battery staple');
    const cli = (dir: string, ...args: string[]) => runCli(args, { env: { DATA_DIR: dir } });
    const secret = ['--passphrase-file', passphrase];
    const first = await start(dataDir);
    const key = /x-api-key: (clk_\w+)/.exec(first.process.stderr)?.[1];
    const client = new Client(first.url, key);
    const acknowledged: string[] = [];
    let writing = true;
    const load = Array.from({ length: 4 }, async () => {
      while (writing) {
        const payer = samples.payer();
        if ((await client.post(PAYERS, payer)).status === 200) acknowledged.push(payer.id);
      }
    });
    await eventually(() => expect(acknowledged.length).toBeGreaterThan(200), LONG_MS);
    for (const ms of [400, 800, 1_600]) {
      const kill = AbortSignal.timeout(ms);
      await spawnCli(['backup', backup, ...secret], { env: { DATA_DIR: dataDir }, kill });
    }
    const before = [...acknowledged];
    const taken = await spawnCli(['backup', backup, ...secret], { env: { DATA_DIR: dataDir } });
    expect(taken).toMatchObject({ code: 0, stderr: '' });
    const end = Number(/up to position (\d+)/.exec(taken.stdout)?.[1]);
    expect(await cli(dataDir, 'backup', 'verify', backup, ...secret)).toMatchObject({ code: 0, stderr: '' });
    writing = false;
    await Promise.all(load);
    await first.process.end('SIGKILL');
    rmSync(dataDir, { recursive: true });

    const elsewhere = join(temporaryFolder(), 'data');
    const restored = await cli(dataDir, 'restore', backup, '--data-dir', elsewhere, ...secret);
    expect(restored).toMatchObject({ code: 0, stderr: '' });
    const again = new Client((await start(elsewhere)).url, key);
    for (const id of before) {
      expect((await again.get(`${PAYERS}/${id}`)).status).toBe(200);
    }
    const fresh = await again.post(PAYERS, samples.payer());
    expect(fresh.status).toBe(200);
    const list = await again.get(`${PAYERS}?limit=1`);
    expect(Number(list.headers['chartledger-position'])).toBeGreaterThan(end + acknowledged.length);
  },
  LONG_MS,
);
