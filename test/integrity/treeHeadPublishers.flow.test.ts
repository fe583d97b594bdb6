import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LocalTreeHeadPublisher } from '../../src/storage/engines/filesystem/targets.ts';
import { HttpsTreeHeadPublisher } from '../../src/storage/engines/https/treeHeadPublisher.ts';

import { headTargetContract } from '../storage/contracts/treeHeadPublisher.ts';
import { temporaryFolder } from '../support/cli.ts';
import { freePort } from '../support/servers.ts';
import { Receiver } from '../support/webhooks.ts';

const folder = temporaryFolder();

describe('a folder', () => {
  const heads = join(folder, 'heads');
  mkdirSync(heads);
  headTargetContract({
    open: () => new LocalTreeHeadPublisher(heads),
    openAway: () => new LocalTreeHeadPublisher(join(folder, 'not there')),
    kept: async () =>
      new Map(readdirSync(heads).map((name) => [name, readFileSync(join(heads, name), 'utf8')])),
  });

  test('overwrites nothing', async () => {
    writeFileSync(join(heads, 'mine.json'), 'mine');
    await expect(new LocalTreeHeadPublisher(heads).write('mine.json', '{}')).rejects.toMatchObject({
      code: 'unavailable',
    });
    expect(readFileSync(join(heads, 'mine.json'), 'utf8')).toBe('mine');
    expect(readdirSync(heads)).not.toContain('mine.json.part');
  });
});

describe('an address', () => {
  let receiver: Receiver;
  let port: number;
  let status = 201;
  beforeAll(async () => {
    port = await freePort();
    receiver = await Receiver.listen((_req, res) =>
      res.writeHead(status, { location: '/elsewhere' }).end('taken'),
    );
  });
  afterAll(() => receiver.close());
  const open = () => new HttpsTreeHeadPublisher(`http://127.0.0.1:${receiver.port}/heads?token=secret`);

  headTargetContract({
    open,
    openAway: () => new HttpsTreeHeadPublisher(`http://127.0.0.1:${port}/heads`),
    kept: async () =>
      new Map(receiver.received.map(({ headers, body }) => [String(headers['idempotency-key']), body])),
  });

  test.each([301, 400, 500])(
    'that answers with %i has not taken it; the problem keeps the path secret',
    async (other) => {
      status = other;
      const before = receiver.received.length;
      await expect(open().write('clinic-2.json', '{}')).rejects.toMatchObject({
        problem: `127.0.0.1:${receiver.port} answered with ${other} instead of 200.`,
      });
      expect(receiver.received.slice(before).map(({ method, path }) => ({ method, path }))).toEqual([
        { method: 'POST', path: '/heads?token=secret' },
      ]);
    },
  );
});
