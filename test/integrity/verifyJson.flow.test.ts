import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli, runInWorkspace, storesOf, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { createEncounter, documentForm, documentsPath } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, type TestService } from '../support/service.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  const folder = temporaryFolder();
  const inFolder = (name: string) => join(folder, name);
  beforeAll(async () => {
    service = await start();
    const encounter = await createEncounter(service);
    await service.upload(documentsPath(encounter), documentForm());
    const { stdout } = await runCli(['secrets', 'show', 'signing'], {
      env: { ...storesOf(service.config), DATA_DIR: service.config.dataDir },
    });
    writeFileSync(inFolder('key.pem'), stdout);
  });
  afterAll(() => service.stop());
  const root = expect.stringMatching(/^[0-9a-f]{64}$/);
  const sound = { outcome: 'verified', problems: [], remarks: [] };

  test('verify prints what it verified in the stores as one JSON object', async () => {
    const workspace = service.workspaceId('clinic');
    const accesses = await accessesBy(service, () =>
      eventually(async () => {
        const options = ['--documents', '--records', '--json'];
        const { code, stdout, stderr } = await runInWorkspace(service, 'verify', ...options);
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
        const found = JSON.parse(stdout);
        expect(found).toEqual({
          ...sound,
          log: {
            ...{ workspace, events: expect.any(Number), compared: expect.any(Number), heads: 0 },
            ...{ tree_head: root, erased_events: 0, erasures: [] },
          },
          documents: { verified: 1, gone: 0 },
          read_models: { rows: expect.any(Number), models: expect.any(Number), unwritten: 0 },
        });
        expect(found.log.compared).toBeGreaterThan(2);
        expect(found.read_models.rows).toBeGreaterThan(2);
      }),
    );
    expect(new Set(accesses.map(({ action }) => action))).toEqual(new Set(['verify']));
  });

  test('the same of files; a problem is in it, too, and the exit code is 1', async () => {
    const workspace = service.workspaceId('clinic');
    const out = inFolder('clinic.ndjson');
    await runInWorkspace(service, 'export', '--format', 'ndjson', '--out', out);
    const check = async (path: string) => {
      const { code, stdout } = await runCli(['verify', path, '--public-key', inFolder('key.pem'), '--json']);
      return { code, found: JSON.parse(stdout) };
    };
    const filters = { kind: null, from: null, to: null };
    expect(await check(out)).toEqual({
      code: 0,
      found: { ...sound, export: { workspace, events: expect.any(Number), filters, tree_head: root } },
    });
    writeFileSync(out, readFileSync(out, 'utf8').replace('Upserted', 'Upserten'));
    const { code, found } = await check(out);
    expect({ code, found }).toEqual({
      code: 1,
      found: { outcome: 'failed', problems: [expect.any(String)], remarks: [] },
    });
  });
});
