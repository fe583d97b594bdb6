import { generateKeyPairSync } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TreeHead } from '../../src/modules/integrity/publicKeys.ts';
import { signStatement } from '../../src/modules/integrity/signing.ts';

import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { headNames } from '../support/log.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { logLines, readAll, type TestService } from '../support/service.ts';

const LONG_MS = 60_000;
const headPauses = { everyMs: 50, retryMs: 50 };

onEmbeddedEngines((start) => {
  const folder = temporaryFolder();
  const heads = join(folder, 'heads');
  let service: TestService;
  beforeAll(async () => {
    mkdirSync(heads);
    service = await start({ HEADS_TO: heads, METRICS_PORT: '0' }, { headPauses });
  }, LONG_MS);
  afterAll(() => service.stop());

  const clinic = () => service.workspaceId('clinic');
  const inFolder = (name: string) => join(folder, name);
  const verify = (...args: string[]) =>
    runCli(['verify', '--workspace', clinic(), ...args], {
      env: { ...storesOf(service.config), DATA_DIR: service.config.dataDir },
    });
  const namesOfClinic = () => headNames(heads, clinic());
  const read = (name: string): TreeHead => JSON.parse(readFileSync(join(heads, name), 'utf8'));
  const last = () => read(namesOfClinic().at(-1) as string);
  const sizeOfLog = async () =>
    (await readAll(service.eventLog)).filter(({ metadata }) => metadata.workspace === clinic()).length;

  /** Until a head says what the log holds now. */
  const headIsSent = async () => {
    const size = await sizeOfLog();
    await eventually(() => expect(last().size).toBe(size));
  };

  test('heads come while the workspace grows, and the log is verified against all of them', async () => {
    for (let n = 0; n < 3; n++) {
      await service.post('/integration/payers', samples.payer());
      await headIsSent();
    }
    const all = namesOfClinic().length;
    expect(all).toBeGreaterThanOrEqual(3);
    const { code, stdout, stderr } = await verify('--heads', heads);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(` and all against `);
    expect(await service.readiness()).toMatchObject({ warnings: [], roles: { heads: 'ready' } });
  });

  test('a proof that the interface gives has the last head with the version: it needs the public key alone', async () => {
    const payer = samples.payer();
    await service.post('/integration/payers', payer);
    await headIsSent();
    const proof = await eventually(async () => {
      const { status, body } = await service.get(`/integration/payers/${payer.id}/history/1/proof`);
      expect({ status, type: body.tree_head?.type }).toEqual({
        status: 200,
        type: 'chartledger.tree_head.v1',
      });
      return body;
    });
    expect(namesOfClinic().map(read)).toContainEqual(proof.tree_head);
    writeFileSync(inFolder('proof.json'), JSON.stringify(proof));
    const env = { ...storesOf(service.config), DATA_DIR: service.config.dataDir };
    writeFileSync(inFolder('own.pem'), (await runCli(['secrets', 'show', 'signing'], { env })).stdout);
    const checked = await runCli(['verify', inFolder('proof.json'), '--public-key', inFolder('own.pem')]);
    expect(checked).toMatchObject({ code: 0, stderr: '' });
  });

  test(
    'a stop sends what has not been sent',
    async () => {
      await service.restart(async () => {
        expect(last().size).toBe(await sizeOfLog());
      });
    },
    LONG_MS,
  );

  test('a head that the log does not hold, or that nobody signed, is refused, with its file or time', async () => {
    await headIsSent();
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    writeFileSync(inFolder('key.pem'), publicKey.export({ type: 'spki', format: 'pem' }));
    const mine = inFolder('mine');
    mkdirSync(mine);
    const resign = (name: string, changes: object) => {
      const { signature, key_id, ...head } = read(name);
      writeFileSync(join(mine, name), JSON.stringify(signStatement({ ...head, ...changes }, privateKey)));
    };
    const names = namesOfClinic();
    for (const name of names) resign(name, {});
    const checked = (...args: string[]) =>
      verify('--heads', mine, '--public-key', inFolder('key.pem'), ...args);
    expect((await checked()).code).toBe(0);
    const [one] = names.slice(1) as [string];
    resign(one, { root: 'ab'.repeat(32) });
    const { code, stdout, stderr } = await checked();
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(
      `The log does not match the head that was signed at ${read(one).created_at}: its first ${read(one).size} events are not those that were signed.\n`,
    );
    copyFileSync(join(heads, one), join(mine, one));
    expect((await checked()).stderr).toContain(`${one} is not valid: it was signed with the key `);
    writeFileSync(join(mine, one), '{}');
    expect((await checked()).stderr).toContain(`${one} is not valid: it is neither a tree head`);
    rmSync(mine, { recursive: true });
    mkdirSync(mine);
    expect((await checked()).stderr).toBe(`${mine} does not contain a head of the workspace ${clinic()}.\n`);
    expect((await verify('--heads', inFolder('none'))).stderr).toContain(
      'cannot be read or written (ENOENT)',
    );
  });

  test('a place that is away is told of once, in the log and in /readyz; heads go on when it is back', async () => {
    rmSync(heads, { recursive: true });
    const told = () => logLines(heads).filter(({ msg }) => msg === 'heads cannot be sent').length;
    await service.post('/integration/payers', samples.payer());
    await eventually(async () => {
      const { status, warnings } = await service.readiness();
      expect(status).toBe('ready');
      expect(warnings).toEqual([
        { code: 'heads_not_sent', message: expect.stringContaining(`${heads} is not there`) },
      ]);
    });
    expect(told()).toBe(1);
    mkdirSync(heads);
    await eventually(async () => expect((await service.readiness()).warnings).toEqual([]));
    await headIsSent();
    expect(told()).toBe(1);
    expect((await verify('--heads', heads)).code).toBe(0);
  });
});
