import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Caller } from '../../src/domain/events/newEvent.ts';
import type { Workspace } from '../../src/modules/auth/apiKeys.ts';
import type { ErasurePorts } from '../../src/modules/erasure/finish.ts';
import { resetSandbox } from '../../src/modules/erasure/resetSandbox.ts';
import { unavailable } from '../../src/platform/errors.ts';
import { openReadModels, openStateStore } from '../../src/server/openStorage.ts';

import { type CliResult, runCli, storesOf } from '../support/cli.ts';
import type { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { notePhi, phi } from '../support/output.ts';
import { createEncounter, documentForm, documentsPath, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, changesBy, newEvents, type TestService } from '../support/service.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  let workspace: string;
  let client: Client;
  let keyId: string;
  beforeAll(async () => {
    service = await start();
    workspace = service.workspaceId('sandbox');
    const [made] = await changesBy(service, async () => {
      const { stdout } = await cli('workspaces', 'create', workspace, '--sandbox', '--json');
      expect(JSON.parse(stdout)).toMatchObject({ id: workspace, sandbox: true });
    });
    expect([made?.type, made?.data]).toEqual(['WorkspaceCreated', { workspace, sandbox: true }]);
    const { stdout } = await cli(
      'keys',
      'create',
      '--create-workspace',
      '--workspace',
      workspace,
      '--json',
      ...everything,
    );
    const { id, key } = JSON.parse(stdout);
    notePhi(key);
    expect(key).toMatch(/^clk_test_[0-9A-Za-z]{38}$/);
    keyId = id;
    client = service.as(key);
  });
  afterAll(() => service.stop());

  const everything = ['--permissions', 'write,read,webhooks'];
  /** Runs a command on the stores of the running service. */
  function cli(...args: string[]): Promise<CliResult> {
    return runCli(args, { env: { ...storesOf(service.config), DATA_DIR: service.config.dataDir } });
  }
  const reset = (id = workspace, confirm = id) => cli('workspaces', 'reset', id, '--confirm', confirm);
  const emptied = async () => expect(await reset()).toMatchObject({ code: 0 });
  const left = async () => {
    const lists = ['patients', 'payers', 'providers', 'facilities', 'encounters'].map(
      async (plural) => (await client.get(`/integration/${plural}`)).body.items,
    );
    return (await Promise.all(lists)).flat();
  };

  test('keys of a sandbox are test keys, and so are those that take their place; others are not', async () => {
    const { stdout } = await cli('keys', 'create', '--create-workspace', '--workspace', workspace, '--json');
    const { id, key } = JSON.parse(stdout);
    notePhi(key);
    const rotated = JSON.parse((await cli('keys', 'rotate', id, '--json')).stdout);
    notePhi(rotated.key);
    expect(rotated.key).toMatch(/^clk_test_[0-9A-Za-z]{38}$/);
    expect((await service.as(rotated.key).post('/integration/payers', samples.payer())).status).toBe(200);
    expect((await service.createKey('clinic')).key).toMatch(/^clk_[0-9A-Za-z]{38}$/);
    expect((await cli('workspaces', 'list')).stdout).toMatch(new RegExp(`^${workspace} .* yes$`, 'm'));
  });

  test('nothing but a sandbox is reset, and only when its id is typed once more', async () => {
    const payer = samples.payer();
    await service.post('/integration/payers', payer);
    const events = await newEvents(service, async () => {
      const clinic = service.workspaceId('clinic');
      for (const [refused, message] of [
        [await reset(clinic), `Workspace ${clinic} is not a sandbox`],
        [await reset('not_there'), 'Workspace not_there does not exist.'],
      ] as const) {
        expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(message) });
      }
    });
    expect(await reset(workspace, 'clinic')).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('--confirm does not match the workspace; nothing was erased'),
    });
    expect(events).toEqual([]);
    expect((await service.get(`/integration/payers/${payer.id}`)).status).toBe(200);
  });

  test('a reset erases all records and documents; keys, webhooks and the audit trail stay, and ids may be used again', async () => {
    await emptied();
    const payer = samples.payer();
    const patient = { ...samples.patient(), primary_insurance: { payer_id: payer.id } };
    await client.post('/integration/payers', payer);
    await client.post('/integration/patients', patient);
    const encounter = await createEncounter(client);
    await client.upload(documentsPath(encounter), documentForm());
    const webhook = await client.post('/integration/webhooks', { url: 'https://example.invalid/hooks' });
    expect(webhook.status).toBe(200);
    const appended = await appendedBy(service, async () => {
      const done = await reset();
      expect(done).toMatchObject({ code: 0 });
      expect(done.stdout).toContain('Erased: 3. Encounters that went with patients: 1.');
    });
    const tombstones = appended.filter((line) => line.startsWith('sandbox.'));
    expect(tombstones.map((line) => line.replace(/.*: /, '')).toSorted()).toEqual([
      'DocumentErased',
      ...Array(4).fill('RecordErased'),
    ]);
    expect(await left()).toEqual([]);
    expect((await client.get(documentsPath(encounter))).status).toBe(410);
    expect((await client.get(`/integration/webhooks/${webhook.body.id}`)).status).toBe(200);
    expect((await cli('keys', 'list', '--workspace', workspace)).stdout).toContain(keyId);

    const again = await client.post('/integration/payers', payer);
    expect(again.body).toMatchObject({ outcome: 'created' });
    expect(await cli('verify', '--workspace', workspace)).toMatchObject({ code: 0, stderr: '' });
  });

  test('a reset of what is empty erases nothing; each is one entry of the audit trail', async () => {
    await emptied();
    const events = await newEvents(service, async () => {
      expect(await reset()).toMatchObject({ code: 0, stdout: expect.stringContaining('Erased: 0.') });
    });
    // What the webhook was sent before is told in the trail when its time comes.
    const own = events.filter(({ data }) => data.action !== 'webhook.sent');
    expect(own.map(({ type, data }) => [type, data.action])).toEqual([['AccessRecorded', 'workspace.reset']]);
  });

  test('a read model that lags for a while does not end a reset, neither before it erases nor behind', async () => {
    await emptied();
    await client.post('/integration/payers', samples.payer());
    const models = await openReadModels(service.config.readModelUrl);
    const stateStore = await openStateStore(service.config.stateUrl);
    let lags = 0;
    const readModels = new Proxy(models, {
      get: (target, name) => {
        const own = Reflect.get(target, name);
        return typeof own !== 'function'
          ? own
          : async (...args: unknown[]) => {
              if (name === 'checkpoint' && lags-- > 0) throw unavailable('list');
              return own.apply(target, args);
            };
      },
    });
    const caller = { workspace, principal: { type: 'operator', id: 'test' }, requestId: crypto.randomUUID() };
    const ports = { eventLog: service.eventLog, readModels, stateStore, webhooksOf: () => [] };
    const appended = await appendedBy(service, async () => {
      lags = 1;
      const resetting = resetSandbox(
        ports as unknown as ErasurePorts,
        caller as Caller,
        { id: workspace, sandbox: true } as Workspace,
        // Told when all is erased, and before it is taken out of the files.
        () => {
          lags = 1;
        },
      );
      expect(await resetting).toMatchObject({ erased: 1 });
    });
    expect(appended.map((line) => line.replace(/.*: /, ''))).toEqual(['RecordErased']);
    await models.close();
    await stateStore.close();
  });

  test('what is under legal hold is kept, and said', async () => {
    const payer = samples.payer();
    const held = { ...samples.payer(), id: phi('held') };
    for (const one of [payer, held]) await client.post('/integration/payers', one);
    const hold = await cli(
      ...['holds', 'create', 'payer', held.id, '--workspace', workspace, '--reason', 'A matter of 2026'],
    );
    expect(hold).toMatchObject({ code: 0, stderr: '' });
    const { code, stderr } = await reset();
    expect(code).toBe(1);
    expect(stderr).toContain('Kept: 1, of which under legal hold: 1');
    await eventually(async () => expect(await left()).toHaveLength(1));
  });
});
