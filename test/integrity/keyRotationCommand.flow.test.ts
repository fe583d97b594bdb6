import { generateKeyPairSync } from 'node:crypto';
import { copyFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { newActorEvent } from '../../src/domain/events/newEvent.ts';
import { generateSigningKey, parseSigningKey, signKeyRotation } from '../../src/modules/integrity/signing.ts';
import { openEventLog } from '../../src/server/openStorage.ts';

import { runCli, temporaryFolder } from '../support/cli.ts';
import { readAll } from '../support/service.ts';

const OTHER_LOG = '6f1c1f53-7f0a-4d0b-9a0e-3c9e5d0a7b11';
const newKey = () => generateKeyPairSync('ed25519').privateKey;

/** A data folder with a log and a signing key. */
async function begin() {
  const folder = temporaryFolder();
  const cli = (...args: string[]) => runCli(args, { env: { DATA_DIR: folder } });
  const file = (name: string) => join(folder, name);
  expect(await cli('secrets', 'show', 'signing', '--init')).toMatchObject({ code: 0 });
  const withLog = async <Result>(
    work: (log: Awaited<ReturnType<typeof openEventLog>>) => Promise<Result>,
  ) => {
    const log = await openEventLog(`sqlite:${file('events.db')}`);
    return work(log).finally(() => log.close());
  };
  const rotations = async () => (await withLog(readAll)).filter(({ type }) => type === 'KeyRotated').length;
  return { cli, file, withLog, rotations };
}

describe('a rotation of a key in a file', () => {
  test('puts a new key in its place, for the owner alone, and leaves the old one nowhere', async () => {
    const { cli, file, rotations } = await begin();
    const before = readFileSync(file('signing-key'));
    expect(await cli('secrets', 'rotate', 'signing')).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(file('signing-key'))).not.toEqual(before);
    expect(existsSync(file('signing-key.next'))).toBe(false);
    expect(await rotations()).toBe(1);
    expect(await cli('secrets', 'rotate', 'signing')).toMatchObject({ code: 0, stderr: '' });
    expect(await rotations()).toBe(2);
    expect(await cli('doctor')).toMatchObject({ stdout: expect.not.stringContaining('other_key') });
  });

  test('that was cut off before the log knew of it goes on with the key that it made', async () => {
    const { cli, file, rotations } = await begin();
    const next = generateSigningKey();
    writeFileSync(file('signing-key.next'), next, { mode: 0o600 });
    const old = readFileSync(file('signing-key'));
    await cli('secrets', 'show', 'signing');
    expect(readFileSync(file('signing-key'))).toEqual(old);
    expect(await cli('secrets', 'rotate', 'signing')).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(file('signing-key'))).toEqual(next);
    expect(await rotations()).toBe(1);
  });

  test.each([
    ['secrets', 'rotate', 'signing'],
    ['secrets', 'show', 'signing'],
  ])('that was cut off when the log knew of it comes to its end, by: %s', async (...args) => {
    const { cli, file, rotations } = await begin();
    copyFileSync(file('signing-key'), file('old'));
    await cli('secrets', 'rotate', 'signing');
    const after = await cli('secrets', 'show', 'signing');
    renameSync(file('signing-key'), file('signing-key.next'));
    renameSync(file('old'), file('signing-key'));
    expect(await cli(...args)).toMatchObject({ code: 0, stderr: '' });
    expect(await rotations()).toBe(1);
    expect(existsSync(file('signing-key.next'))).toBe(false);
    expect((await cli('secrets', 'show', 'signing')).stdout).toBe(after.stdout);
  });

  test('that somebody forged is named, whichever workspace is verified', async () => {
    const { cli, file, withLog } = await begin();
    const append = (rotation: object) =>
      withLog(async (log) => {
        const data = { setting: 'SIGNING_KEY', fingerprint: 'f'.repeat(16), rotation };
        const event = newActorEvent(
          { principal: { type: 'operator', id: 'x' } },
          '*',
          'KeyRotated',
          data as never,
        );
        await log.append('*.key_rotations', event, 'any');
      });
    const thief = newKey();
    const own = parseSigningKey(readFileSync(file('signing-key')));
    writeFileSync(file('own.pem'), (await cli('secrets', 'show', 'signing')).stdout);
    const log = await withLog((one) => one.identity());
    await append(signKeyRotation(log, thief, newKey()));
    await append({ ...signKeyRotation(log, own, thief), rotated_at: '2199-01-01T00:00:00.000Z' });
    await append(signKeyRotation(OTHER_LOG, own, thief));
    await cli('workspaces', 'create', 'clinic');
    const { code, stderr } = await cli('verify', '--workspace', 'clinic', '--public-key', file('own.pem'));
    expect(code).toBe(1);
    const lines = stderr
      .trimEnd()
      .split('\n')
      .map((line) => line.replace(/\d+/, 'N'));
    expect(lines).toEqual([
      'The rotation of the signing key at position N is not valid: it was not signed with its keys.',
      'The rotation of the signing key at position N is not valid: it belongs to another event log.',
      'The rotation of the signing key at position N is not valid: it does not lead to the current signing key.',
    ]);
  });
});
