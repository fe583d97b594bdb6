import { createPublicKey, type KeyObject } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TreeHead } from '../../src/modules/integrity/publicKeys.ts';
import {
  generateSigningKey,
  keyId,
  parseSigningKey,
  signStatement,
} from '../../src/modules/integrity/signing.ts';

import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { headNames } from '../support/log.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { readAll, type TestService } from '../support/service.ts';

const LONG_MS = 60_000;
const headPauses = { everyMs: 50, retryMs: 50 };

onEmbeddedEngines((start) => {
  const folder = temporaryFolder();
  const heads = join(folder, 'heads');
  const [oldKey, newKey] = [generateSigningKey(), generateSigningKey()];
  const idOf = (key: Buffer) => keyId(createPublicKey(parseSigningKey(key)));
  const patients = [samples.patient(), samples.patient()];
  let service: TestService;

  beforeAll(async () => {
    mkdirSync(heads);
    const both = [oldKey, newKey].map((key) => key.toString('base64')).join(',');
    service = await start({ SIGNING_KEY: both, HEADS_TO: heads }, { headPauses });
    for (const patient of patients) await service.post('/integration/patients', patient);
    await nextHead(oldKey);
    await sign('old');
    const rotated = await cli('secrets', 'rotate', 'signing');
    expect(rotated).toMatchObject({ code: 0, stderr: '' });
    expect(rotated.stdout).toContain(`From now on the key ${idOf(newKey)} signs.`);
    await sign('new');
  }, LONG_MS);
  afterAll(() => service.stop());

  const clinic = () => service.workspaceId('clinic');
  const inFolder = (name: string) => join(folder, name);
  const cli = (...args: string[]) => runCli(args, { env: storesOf(service.config) });
  const verify = (...args: string[]) => cli('verify', '--workspace', clinic(), ...args);
  const held = { code: 0, stderr: '' };
  const headsOfClinic = () =>
    headNames(heads, clinic()).map((name): TreeHead => JSON.parse(readFileSync(join(heads, name), 'utf8')));

  /** A head of a key, and of more events than the heads before. */
  const nextHead = async (key: Buffer) => {
    const before = headsOfClinic().at(-1)?.size ?? 0;
    await service.post('/integration/payers', samples.payer());
    return eventually(() => {
      const head = headsOfClinic().at(-1) as TreeHead;
      expect(head.size).toBeGreaterThan(before);
      expect(head.key_id).toBe(idOf(key));
      return head;
    });
  };

  /** Everything that is signed, by the key of the moment. */
  async function sign(when: 'old' | 'new'): Promise<void> {
    writeFileSync(inFolder(`${when}.pem`), (await cli('secrets', 'show', 'signing')).stdout);
    const patient = patients[when === 'old' ? 0 : 1]?.id as string;
    const own = ['--workspace', clinic()];
    const proof = inFolder(`${when}-proof.json`);
    expect(
      await cli('records', 'prove', 'patient', patient, '--version', '1', ...own, '--out', proof),
    ).toMatchObject(held);
    const certificate = inFolder(`${when}-certificate.json`);
    const erased = await eventually(async () => {
      const args = [
        'records',
        'erase',
        'patient',
        patient,
        ...own,
        '--reason',
        'Request',
        '--certificate',
        certificate,
      ];
      const result = await cli(...args);
      expect(readdirSync(folder)).toContain(`${when}-certificate.json`);
      return result;
    });
    expect(erased).toMatchObject(held);
    const out = inFolder(`${when}-export`);
    expect(await cli('export', ...own, '--format', 'ndjson', '--out', out)).toMatchObject(held);
  }

  test('the log tells of it, who did it, and both keys vouch for it', async () => {
    const events = (await readAll(service.eventLog)).filter(({ type }) => type === 'KeyRotated');
    expect(events).toMatchObject([
      {
        stream: '*.key_rotations',
        data: { setting: 'SIGNING_KEY', rotation: { log: await service.eventLog.identity() } },
        metadata: { workspace: '*', principal: { type: 'operator' } },
      },
    ]);
  });

  test('a service that runs signs with the new key from then on, and all heads hold', async () => {
    await nextHead(newKey);
    for (const key of [[], ['--public-key', inFolder('old.pem')], ['--public-key', inFolder('new.pem')]])
      expect(await verify('--heads', heads, ...key)).toMatchObject(held);
    expect(await verify()).toMatchObject(held);
    expect(await cli('verify', '--workspace', '*')).toMatchObject(held);
  });

  test.each(['proof.json', 'certificate.json', 'export'])(
    'of either time a %s holds offline with the public key of either time',
    async (what) => {
      for (const when of ['old', 'new']) {
        for (const key of ['old.pem', 'new.pem']) {
          const args = ['verify', inFolder(`${when}-${what}`), '--public-key', inFolder(key)];
          expect({ when, key, ...(await runCli(args)) }).toMatchObject({ when, key, ...held });
        }
      }
    },
  );

  test('what the new public key alone does not lead to is refused, and holds with both', async () => {
    const pem = readFileSync(inFolder('new.pem'), 'utf8');
    writeFileSync(inFolder('alone.pem'), pem.slice(0, pem.indexOf('-----BEGIN CHARTLEDGER')));
    const file = inFolder('old-export');
    const alone = await runCli(['verify', file, '--public-key', inFolder('alone.pem')]);
    expect(alone.stderr).toContain(`it was signed with the key ${idOf(oldKey)}, not with ${idOf(newKey)}`);
    const both = readFileSync(inFolder('alone.pem'), 'utf8') + readFileSync(inFolder('old.pem'), 'utf8');
    writeFileSync(inFolder('both.pem'), both);
    expect(await runCli(['verify', file, '--public-key', inFolder('both.pem')])).toMatchObject(held);
  });

  test('a head that the old key signs of what came after its end is named', async () => {
    const head = await nextHead(newKey);
    const forge = (changes: object): string => {
      const { signature, key_id, key_rotations, ...body } = head;
      writeFileSync(
        inFolder('forged.json'),
        JSON.stringify(signStatement({ ...body, ...changes }, keyOf(oldKey))),
      );
      return inFolder('forged.json');
    };
    const now = await verify('--head', forge({}));
    expect(now).toMatchObject({ code: 1, stdout: '' });
    expect(now.stderr).toMatch(
      /: the key \w{16}, which signed it, was replaced at position \d+, but the head extends to position \d+\.\n$/,
    );
    const later = await verify('--head', forge({ created_at: '2199-01-01T00:00:00.000Z' }));
    expect(later.stderr).toMatch(
      /it claims to have been signed at 2199\S+ with the key \w{16}, which was replaced at 20/,
    );
  });

  test('run again, it begins no other one', async () => {
    const again = await cli('secrets', 'rotate', 'signing');
    expect(again).toMatchObject(held);
    expect(again.stdout).toContain('no other one was begun');
    const events = (await readAll(service.eventLog)).filter(({ type }) => type === 'KeyRotated');
    expect(events).toHaveLength(1);
  });

  test('the new key works alone, the old one does not', async () => {
    const withKey = (key: Buffer) =>
      runCli(['secrets', 'show', 'signing'], {
        env: { ...storesOf(service.config), SIGNING_KEY: key.toString('base64') },
      });
    expect(await withKey(newKey)).toMatchObject(held);
    expect((await withKey(oldKey)).stderr).toMatch(
      /^SIGNING_KEY: the key in SIGNING_KEY \(\w+\) is not the one/,
    );
    const refused = await runCli(['secrets', 'rotate', 'signing'], {
      env: { ...storesOf(service.config), SIGNING_KEY: newKey.toString('base64') },
    });
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('SIGNING_KEY is a setting, and names no other key.');
  });
});

const keyOf = (key: Buffer): KeyObject => parseSigningKey(key);
