import { writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CliResult, runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { clientKeys } from '../support/emr.ts';
import { eventually } from '../support/eventually.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, newEvents, type TestService } from '../support/service.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  /** Runs a command on the stores of the running service. */
  function cli(...args: string[]): Promise<CliResult> {
    return runCli(args, { env: storesOf(service.config) });
  }

  async function createdKey(label: string, ...more: string[]) {
    const result = await cli(
      ...[
        'keys',
        'create',
        '--create-workspace',
        '--workspace',
        service.workspaceId(label),
        '--json',
        ...more,
      ],
    );
    expect(result).toMatchObject({ code: 0, stderr: '' });
    return JSON.parse(result.stdout);
  }

  test('a key made while the service runs works at once, in a workspace made with it', async () => {
    const workspace = service.workspaceId('made');
    const events = await newEvents(service, async () => {
      const made = await createdKey('made', '--name', 'EMR sync', '--permissions', 'read,write');
      expect(made).toEqual({
        id: expect.stringMatching(/^key_\w{16}$/),
        key: expect.stringMatching(/^clk_\w{38}$/),
        workspace,
        name: 'EMR sync',
        permissions: ['write', 'read'],
      });
      const payer = samples.payer();
      expect((await service.as(made.key).post('/integration/payers', payer)).status).toBe(200);
      expect((await service.as(made.key).get(`/integration/payers/${payer.id}`)).status).toBe(200);
    });
    expect(events.map(({ type }) => type)).toEqual([
      'WorkspaceCreated',
      'ApiKeyCreated',
      'PayerUpserted',
      'AccessRecorded',
    ]);
    const principal = { type: 'operator', id: expect.stringMatching(/./) };
    expect(events.slice(0, 2).map(({ metadata }) => metadata.principal)).toEqual([principal, principal]);
  });

  test('a key may write, and nothing else, unless said otherwise', async () => {
    const appended = await appendedBy(service, async () => {
      const made = await createdKey('plain');
      expect(made).toMatchObject({ name: 'API key', permissions: ['write'] });
      expect((await service.as(made.key).get('/integration/payers')).status).toBe(403);
    });
    expect(appended).toEqual(['access: WorkspaceCreated', 'access: ApiKeyCreated']);
  });

  test('a running service follows a key that is deactivated, activated and deleted', async () => {
    const { id, key } = await createdKey('turned');
    const status = async () => (await service.as(key).post('/integration/payers', {})).status;
    expect(await status()).toBe(400);
    const appended = await appendedBy(service, async () => {
      expect((await cli('keys', 'deactivate', id)).code).toBe(0);
      await eventually(async () => expect(await status()).toBe(403));
      expect((await cli('keys', 'activate', id)).code).toBe(0);
      await eventually(async () => expect(await status()).toBe(400));
      expect((await cli('keys', 'delete', id)).code).toBe(0);
      await eventually(async () => expect(await status()).toBe(401));
      expect(await cli('keys', 'activate', id)).toEqual({
        code: 1,
        stdout: '',
        stderr: `Key ${id} is deleted. This is permanent.\n`,
      });
    });
    expect(appended).toEqual([
      'access: ApiKeyDeactivated',
      'access: ApiKeyActivated',
      'access: ApiKeyDeleted',
    ]);
  });

  test('a key that is rotated works beside its replacement until it expires', async () => {
    const { id, key, ...made } = await createdKey('rotated', '--name', 'Nightly');
    const status = async (one: string) => (await service.as(one).post('/integration/payers', {})).status;
    const appended = await appendedBy(service, async () => {
      const rotated = await cli('keys', 'rotate', id, '--expires', '2h', '--json');
      const { key: newKey, previous_expires_at, ...replacement } = JSON.parse(rotated.stdout);
      expect(replacement).toEqual({ ...made, id: expect.stringMatching(/^key_\w{16}$/), replaces: id });
      expect(await status(newKey)).toBe(400);
      expect(await status(key)).toBe(400);
      const listed = await cli('keys', 'list', '--workspace', made.workspace, '--json');
      expect(JSON.parse(listed.stdout)).toEqual([
        expect.objectContaining({ id, expires_at: previous_expires_at, replaced_by: replacement.id }),
        expect.objectContaining({ id: replacement.id, name: 'Nightly', expires_at: null, replaced_by: null }),
      ]);
      const again = await cli('keys', 'rotate', id);
      expect(again.stderr).toBe(`Key ${id} is already being replaced by key ${replacement.id}.\n`);
      const atOnce = await cli('keys', 'rotate', replacement.id, '--expires', '0s');
      expect(atOnce.stdout).toMatch(/^ {2}clk_\w{38}$/m);
      expect(atOnce.stdout).toContain(`Key ${replacement.id}, which it replaces, is refused from now on.`);
      await eventually(async () => expect(await status(newKey)).toBe(403));
      const states = await cli('keys', 'list', '--workspace', made.workspace, '--json');
      expect(JSON.parse(states.stdout).map(({ state }: { state: string }) => state)).toEqual([
        'active',
        'expired',
        'active',
      ]);
    });
    expect(appended).toEqual(['access: ApiKeyRotated', 'access: ApiKeyRotated']);
  });

  test('a running service follows a workspace that is deactivated and activated', async () => {
    const workspace = service.workspaceId('closing');
    const appended = await appendedBy(service, async () => {
      const made = await cli('workspaces', 'create', workspace, '--json');
      expect(JSON.parse(made.stdout)).toMatchObject({ id: workspace, state: 'active' });
      const { key } = await createdKey('closing');
      const status = async () => (await service.as(key).post('/integration/payers', {})).status;
      expect(await status()).toBe(400);
      expect((await cli('workspaces', 'deactivate', workspace)).code).toBe(0);
      await eventually(async () => expect(await status()).toBe(403));
      expect((await cli('workspaces', 'activate', workspace)).code).toBe(0);
      await eventually(async () => expect(await status()).toBe(400));
    });
    expect(appended).toEqual([
      'access: WorkspaceCreated',
      'access: ApiKeyCreated',
      'access: WorkspaceDeactivated',
      'access: WorkspaceActivated',
    ]);
  });

  test('lists tell everything but keys and their hashes', async () => {
    const { key, ...made } = await createdKey('listed', '--name', 'Nightly');
    await createdKey('elsewhere');
    const workspace = service.workspaceId('listed');
    const listed = await cli('keys', 'list', '--workspace', workspace, '--json');
    const created_at = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
    const created_by = { type: 'operator', id: userInfo().username };
    const unlimited = { expires_at: null, networks: null, rate_limit: null };
    const unused = { replaced_by: null, public_keys: [] };
    const living = { state: 'active', created_at, created_by, ...unlimited, ...unused };
    const terms = { recipient: null, recipient_address: null, purpose: null, purpose_statement: null };
    expect(JSON.parse(listed.stdout)).toEqual([{ ...made, ...living, ...terms }]);
    const all = JSON.parse((await cli('keys', 'list', '--json')).stdout);
    expect(all.map(({ workspace }: { workspace: string }) => workspace)).toContain(
      service.workspaceId('elsewhere'),
    );
    const workspaces = JSON.parse((await cli('workspaces', 'list', '--json')).stdout);
    expect(workspaces).toContainEqual({
      id: workspace,
      state: 'active',
      sandbox: false,
      created_at,
      retention: 'default',
      unchanged: 'append',
      break_glass: 'refuse',
      organization: null,
      reason: 'optional',
      returns: 'allow',
      office_hours: null,
    });

    const table = (await cli('keys', 'list', '--workspace', workspace)).stdout.split('\n');
    expect(table).toHaveLength(3);
    const column = (table[0] as string).indexOf('NAME');
    expect(table[1]?.slice(column)).toMatch(/^Nightly +write +active +\d\S+ +\S+ +- +- +- +- +-$/);
    expect(table.join('\n')).not.toContain(key);
    expect((await cli('workspaces', 'list')).stdout).toMatch(new RegExp(`^${workspace} +active +\\d`, 'm'));
  });

  test('to whom data go and why is said of a key, changed and taken back; its replacement has it, too', async () => {
    const address = '12 Main St, Omaha';
    const events = await newEvents(service, async () => {
      const made = await createdKey(
        'terms',
        ...['--recipient', 'Billing Partners', '--recipient-address', address, '--purpose', 'payment'],
      );
      const update = (...more: string[]) => cli('keys', 'set', made.id, ...more);
      const statement = ['--purpose', 'other', '--purpose-statement', 'Required by state law'];
      expect(await update(...statement)).toMatchObject({ code: 0, stderr: '' });
      expect(await update(...statement)).toMatchObject({ code: 0, stderr: '' });
      expect(await update('--recipient-address', '', '--purpose', 'none')).toMatchObject({ code: 0 });
      expect((await cli('keys', 'rotate', made.id)).code).toBe(0);
      const listed = await cli('keys', 'list', '--workspace', service.workspaceId('terms'), '--json');
      expect(JSON.parse(listed.stdout)).toEqual(
        [1, 2].map(() =>
          expect.objectContaining({
            recipient: 'Billing Partners',
            recipient_address: null,
            purpose: null,
            purpose_statement: 'Required by state law',
          }),
        ),
      );
    });
    expect(events.map(({ type }) => type)).toEqual([
      ...['WorkspaceCreated', 'ApiKeyCreated', 'ApiKeyUpdated', 'ApiKeyUpdated', 'ApiKeyRotated'],
    ]);
    const [, created, changed, takenBack] = events;
    expect(created?.data).toMatchObject({ recipient: 'Billing Partners', purpose: 'payment' });
    expect(changed?.data).toEqual({
      key_id: created?.data.key_id,
      purpose: 'other',
      purpose_statement: 'Required by state law',
    });
    expect(takenBack?.data).toEqual({
      key_id: created?.data.key_id,
      recipient_address: null,
      purpose: null,
    });
    expect(takenBack?.metadata.principal).toEqual({ type: 'operator', id: userInfo().username });
  });

  test('limits are given with a key, listed, changed and taken back', async () => {
    const created = ['--expires', '90d', '--network', '192.0.2.0/24,2001:db8::/32', '--network', '10.1.2.3'];
    const events = await newEvents(service, async () => {
      const made = await createdKey(
        'limited',
        ...[...created, '--permissions', 'write:encounter,read:document', '--rate-limit', '6000/min'],
      );
      const lasts = Date.parse(made.expires_at) - Date.now();
      expect(Math.round(lasts / 86_400_000)).toBe(90);
      expect(made).toMatchObject({
        permissions: ['write:encounter', 'read:document'],
        networks: ['192.0.2.0/24', '2001:db8::/32', '10.1.2.3/32'],
        rate_limit: 6000,
      });
      const list = () => cli('keys', 'list', '--workspace', service.workspaceId('limited'));
      expect((await list()).stdout).toContain('192.0.2.0/24,2001:db8::/32,10.1.2.3/32  6000/min');
      const limit = (...more: string[]) => cli('keys', 'set', made.id, ...more);
      expect((await limit('--expires', '2099-01-31', '--network', 'any')).stdout).toBe(
        `Set the limits of key ${made.id}. It expires at 2099-01-31T00:00:00.000Z. Its own limit: 6000 requests per minute.\n`,
      );
      expect((await limit('--expires', 'never', '--rate-limit', 'none')).stdout).toBe(
        `Set the limits of key ${made.id}. It has none.\n`,
      );
      expect((await list()).stdout).toMatch(/ - +- +- +- +-$/m);
      expect(await limit()).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('specify what to set'),
      });
      expect(await limit('--network', 'clinic')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('networks.0 must be a network such as 192.0.2.0/24'),
      });
    });
    expect(events.map(({ type }) => type)).toEqual([
      ...['WorkspaceCreated', 'ApiKeyCreated', 'ApiKeyLimitsSet', 'ApiKeyLimitsSet'],
    ]);
    expect(events[3]?.data).toEqual({ key_id: events[1]?.data.key_id, expires_at: null, rate_limit: null });
  });

  test('public keys are set from a file, listed by their kid, and taken back', async () => {
    const { publicJwk, privateJwk } = await clientKeys('ES384', 'emr-2026');
    const fileOf = (name: string, value: unknown) => {
      const path = join(temporaryFolder(), name);
      writeFileSync(path, JSON.stringify(value));
      return path;
    };
    const events = await newEvents(service, async () => {
      const { id } = await createdKey('smart');
      const set = (file: string) => cli('keys', 'set', id, '--public-keys', file);
      expect((await set(fileOf('jwks.json', { keys: [publicJwk] }))).stdout).toBe(
        `Set the public keys of key ${id}. It has emr-2026. The client id is ${id}.\n`,
      );
      const { stdout } = await cli('keys', 'list', '--workspace', service.workspaceId('smart'), '--json');
      expect(JSON.parse(stdout)).toMatchObject([{ id, public_keys: ['emr-2026'] }]);
      expect(await set(fileOf('private.json', privateJwk))).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('--public-keys must not have a private key'),
      });
      expect((await set('none')).stdout).toBe(`Set the public keys of key ${id}. It has none.\n`);
    });
    expect(events.map(({ type }) => type)).toEqual([
      ...['WorkspaceCreated', 'ApiKeyCreated', 'ApiKeyPublicKeysSet', 'ApiKeyPublicKeysSet'],
    ]);
  });

  test('a change that cannot be is refused with exit code 1, one line, and no event', async () => {
    const workspace = service.workspaceId('clinic');
    const refusals: [string[], string][] = [
      [['workspaces', 'create', workspace], `Workspace ${workspace} already exists.`],
      [['workspaces', 'deactivate', 'not_there'], 'Workspace not_there does not exist.'],
      [['workspaces', 'create', 'Bad.Name'], 'The id of a workspace must have 2 to 40 characters'],
      [['keys', 'create', '--workspace', 'not_there'], 'Workspace not_there does not exist in the event log'],
      [
        ['keys', 'create', '--create-workspace', '--workspace', 'x'],
        'The id of a workspace must have 2 to 40 characters',
      ],
      [['keys', 'create', '--workspace', workspace, '--name', ''], 'The name of a key must have 1 to 100'],
      [['keys', 'delete', 'key_none'], 'Key key_none does not exist.'],
      [['keys', 'rotate', 'key_none'], 'Key key_none does not exist.'],
      [['keys', 'rotate', 'key_none', '--expires', '31d'], 'A rotated key must expire within 30 days.'],
      [['keys', 'list', '--workspace', 'not_there'], 'Workspace not_there does not exist.'],
    ];
    const appended = await appendedBy(service, async () => {
      for (const [args, message] of refusals) {
        const { code, stdout, stderr } = await cli(...args);
        expect({ args, code, stdout }).toEqual({ args, code: 1, stdout: '' });
        expect(stderr).toMatch(/^[^\n]+\n$/);
        expect(stderr).toContain(message);
      }
    });
    expect(appended).toEqual([]);
  });
});
