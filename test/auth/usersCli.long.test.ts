import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { type CliResult, runCli, storesOf } from '../support/cli.ts';
import { notePhi } from '../support/output.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { readAll, type TestService } from '../support/service.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  function cli(input: string | undefined, ...args: string[]): Promise<CliResult> {
    return runCli(args, { env: storesOf(service.config), ...(input !== undefined && { input }) });
  }

  function newPassword(): string {
    const password = randomBytes(12).toString('hex');
    notePhi(password);
    return password;
  }

  const newName = () => `ada-${randomBytes(4).toString('hex')}@example.com`;

  async function created(role: string, name = newName()) {
    const made = await cli(
      `${newPassword()}\n`,
      'users',
      'create',
      name,
      '--role',
      role,
      '--all-workspaces',
      '--password-stdin',
      '--json',
    );
    expect(made).toMatchObject({ code: 0, stderr: '' });
    return JSON.parse(made.stdout);
  }

  /** The events of users that `work` had appended; the log may be shared, so only those about these users. */
  async function userEvents(work: () => Promise<unknown>): Promise<RecordedEvent[]> {
    const before = await service.eventLog.head();
    await work();
    const events = await readAll(service.eventLog, before);
    return events.filter(({ stream }) => stream === 'users');
  }

  test('a user is made with a password that is stored as a hash alone, and listed', async () => {
    const name = newName();
    const password = newPassword();
    const created_at = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
    const made = { name, roles: { '*': 'compliance' }, state: 'active', origin: 'password', created_at };
    const events = await userEvents(async () => {
      const args = [
        'users',
        'create',
        ` ${name} `,
        '--role',
        'compliance',
        '--all-workspaces',
        '--password-stdin',
      ];
      const { code, stdout } = await cli(`${password}\n`, ...args);
      expect(code).toBe(0);
      expect(stdout).toMatch(
        new RegExp(
          `^Made user ${name} with the role compliance\\. Its id is usr_\\w{16}\\.\nEvent log: \\S+\n$`,
        ),
      );
    });
    expect(events).toMatchObject([
      {
        type: 'UserCreated',
        data: {
          ...{ name, roles: { '*': 'compliance' }, origin: 'password' },
          password: { algorithm: 'scrypt', N: 65536 },
        },
        metadata: { workspace: '*', principal: { type: 'operator' } },
      },
    ]);
    expect(JSON.stringify(events)).not.toContain(password);
    const listed = JSON.parse((await cli(undefined, 'users', 'list', '--json')).stdout);
    const id = events[0]?.data.user_id;
    expect(listed).toContainEqual({ id, ...made, password_set_at: created_at, totp_set_at: null });
    expect((await cli(undefined, 'users', 'list')).stdout).toMatch(
      new RegExp(`^${id} +${name} +compliance +active +password +\\d`, 'm'),
    );
    expect(JSON.stringify(listed)).not.toContain('scrypt');
  });

  test('an invitation makes a user without a password, and prints the link to choose one', async () => {
    const name = newName();
    const events = await userEvents(async () => {
      const env = { ...storesOf(service.config), PUBLIC_URL: 'https://chartledger.example.com' };
      const clinic = service.workspaceId('clinic');
      const args = ['users', 'invite', name, '--role', 'viewer', '--workspace', clinic];
      const { code, stdout } = await runCli(args, { env });
      expect(code).toBe(0);
      expect(stdout).toMatch(
        /^With this link .* chooses a password, once, within 48 hours.*:\n\n {2}https:\/\/chartledger\.example\.com\/dashboard\/invitation\?token=[\w-]{43}\n\nEvent log: .+\n$/,
      );
    });
    expect(events).toMatchObject([
      {
        type: 'UserInvited',
        data: {
          name,
          roles: { [service.workspaceId('clinic')]: 'viewer' },
          sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        },
        metadata: { principal: { type: 'operator' } },
      },
    ]);
    const again = JSON.parse((await cli(undefined, 'users', 'invite', name, '--json')).stdout);
    expect(again).toMatchObject({
      name,
      state: 'invited',
      password_set_at: null,
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:3000\/dashboard\/invitation\?token=[\w-]{43}$/),
      expires_at: expect.any(String),
    });
  });

  describe('a user', () => {
    let ada: { id: string; name: string };
    beforeAll(async () => {
      ada = await created('viewer');
    });

    test.each([
      [
        'set-role',
        () => [ada.name.toUpperCase(), 'compliance', '--all-workspaces'],
        'has the role compliance.',
        'UserRoleSet',
      ],
      ['set-role', () => [ada.id, 'compliance', '--all-workspaces'], 'has the role compliance.', undefined],
      [
        'set-role',
        () => [ada.id, 'billing', '--workspace', service.workspaceId('clinic')],
        `has the role billing@`,
        'UserRoleSet',
      ],
      [
        'set-role',
        () => [ada.id, 'none', '--workspace', service.workspaceId('clinic')],
        'has the role compliance.',
        'UserRoleSet',
      ],
      ['disable', () => [ada.name], 'is disabled', 'UserDisabled'],
      ['disable', () => [ada.id], 'is disabled', undefined],
      ['enable', () => [ada.id], 'is active', 'UserEnabled'],
      ['set-password', () => [ada.name, '--password-stdin'], 'is set', 'UserPasswordSet'],
      ['unlock', () => [ada.name], 'is unlocked', 'UserUnlocked'],
      ['invite', () => [ada.name], '/dashboard/invitation?token=', 'UserInvitationIssued'],
      ['reset-totp', () => [ada.name], 'with only the password', undefined],
    ])('is changed by name or id: %s', async (command, args, result, type) => {
      const events = await userEvents(async () => {
        const { code, stdout, stderr } = await cli(newPassword(), 'users', command, ...args());
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
        expect(stdout).toContain(result);
      });
      // The same again changes nothing.
      expect(events.map(({ type, data }) => [type, data.user_id])).toEqual(type ? [[type, ada.id]] : []);
    });

    const name = newName();
    const create = ['create', name, '--role', 'viewer', '--all-workspaces', '--password-stdin'];
    const named = (other: string) => ['create', other, ...create.slice(2)];

    test.each([
      ['a short password', 'elevenchars', () => create, 'at least 12 characters'],
      ['no password', '', () => create, 'at least 12 characters'],
      ['a password of 201 characters', 'x'.repeat(201), () => create, 'at most 200 characters'],
      ['the name as the password', name, () => create, 'must not be the same as the user name'],
      ['a name that is taken', newPassword(), () => named(ada.name.toUpperCase()), 'already'],
      ['a blank name', newPassword(), () => named(' '), '1 to 100 characters'],
      ['a name of 101 characters', newPassword(), () => named('x'.repeat(101)), '1 to 100 characters'],
      ['no terminal', '', () => create.slice(0, 5), 'There is no terminal to ask for the password'],
      [
        'a short new password',
        'short',
        () => ['set-password', ada.name, '--password-stdin'],
        'at least 12 characters',
      ],
      ['a common password', 'aaaaaaaaaaaa', () => create, 'easy to guess'],
      ['nobody', newPassword(), () => ['disable', 'nobody'], 'The user does not exist.'],
      ['nobody', newPassword(), () => ['unlock', 'nobody'], 'The user does not exist.'],
      ['nobody', newPassword(), () => ['reset-totp', 'nobody'], 'The user does not exist.'],
      ['nobody, and no role', '', () => ['invite', 'nobody'], 'Specify its role with --role, and where'],
      ['a name that is taken', '', () => ['invite', ada.name, ...create.slice(2, 5)], 'already'],
      [
        'no workspace',
        newPassword(),
        () => [...create.slice(0, 4), '--password-stdin'],
        'either --workspace',
      ],
      [
        'a workspace and all',
        '',
        () => ['invite', 'nobody', ...create.slice(2, 5), '--workspace', 'a'],
        'either',
      ],
      [
        'an unknown workspace',
        '',
        () => ['invite', 'nobody', '--role', 'viewer', '--workspace', 'nowhere'],
        'There is no workspace nowhere.',
      ],
      [
        'nobody',
        newPassword(),
        () => ['set-role', 'nobody', 'admin', '--all-workspaces'],
        'The user does not exist.',
      ],
    ])('with %s is refused: exit code 1, one line, no event', async (_what, input, args, message) => {
      const events = await userEvents(async () => {
        const { code, stdout, stderr } = await cli(input, 'users', ...args());
        expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
        expect(stderr).toMatch(/^[^\n]+\n$/);
        expect(stderr).toContain(message);
        if (input) expect(stderr).not.toContain(input);
      });
      expect(events).toEqual([]);
    });
  });
});
