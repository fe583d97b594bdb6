import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { RecordedEvent } from '../../src/ports/eventLog.ts';
import { type CliResult, runCli, storesOf } from '../support/cli.ts';
import { onEveryEngine } from '../support/engines.ts';
import { readAll } from '../support/events.ts';
import { notePhi } from '../support/phi.ts';
import type { TestService } from '../support/service.ts';

onEveryEngine((start) => {
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
    const made = { name, role: 'compliance', state: 'active', origin: 'password', created_at };
    const events = await userEvents(async () => {
      const args = ['users', 'create', ` ${name} `, '--role', 'compliance', '--password-stdin'];
      const { code, stdout } = await cli(`${password}\n`, ...args);
      expect(code).toBe(0);
      expect(stdout).toMatch(
        new RegExp(`^Made user ${name} with the role compliance\\. Its id is usr_\\w{16}\\.\n$`),
      );
    });
    expect(events).toMatchObject([
      {
        type: 'UserCreated',
        data: { name, role: 'compliance', origin: 'password', password: { algorithm: 'scrypt', N: 65536 } },
        metadata: { workspace: '*', principal: { type: 'operator' } },
      },
    ]);
    expect(JSON.stringify(events)).not.toContain(password);
    const listed = JSON.parse((await cli(undefined, 'users', 'list', '--json')).stdout);
    const id = events[0]?.data.user_id;
    expect(listed).toContainEqual({ id, ...made, password_set_at: created_at });
    expect((await cli(undefined, 'users', 'list')).stdout).toMatch(
      new RegExp(`^${id} +${name} +compliance +active +password +\\d`, 'm'),
    );
    expect(JSON.stringify(listed)).not.toContain('scrypt');
  });

  test('role, state and password are changed by name or id; the same again changes nothing', async () => {
    const { id, name } = await created('viewer');
    const events = await userEvents(async () => {
      const changes: [string | undefined, string[], string][] = [
        [undefined, ['set-role', name.toUpperCase(), 'compliance'], 'has the role compliance'],
        [undefined, ['set-role', id, 'compliance'], 'has the role compliance'],
        [undefined, ['disable', name], 'is disabled'],
        [undefined, ['disable', id], 'is disabled'],
        [undefined, ['enable', id], 'is active'],
        [newPassword(), ['set-password', name, '--password-stdin'], 'is set'],
      ];
      for (const [input, args, result] of changes) {
        const { code, stdout, stderr } = await cli(input, 'users', ...args);
        expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
        expect(stdout).toContain(result);
      }
    });
    expect(events.map(({ type, data }) => [type, data.user_id])).toEqual([
      ['UserRoleSet', id],
      ['UserDisabled', id],
      ['UserEnabled', id],
      ['UserPasswordSet', id],
    ]);
  });

  test('what cannot be is refused with exit code 1, one line that does not repeat it, and no event', async () => {
    const { name } = await created('viewer');
    const create = ['create', newName(), '--role', 'viewer', '--password-stdin'];
    const refusals: [string | undefined, string[], string][] = [
      ['elevenchars', create, 'at least 12 characters'],
      ['', create, 'at least 12 characters'],
      ['x'.repeat(201), create, 'at most 200 characters'],
      [create[1], create, 'must not be the name'],
      [newPassword(), ['create', name.toUpperCase(), '--role', 'viewer', '--password-stdin'], 'already'],
      [newPassword(), ['create', ' ', '--role', 'viewer', '--password-stdin'], '1 to 100 characters'],
      [newPassword(), ['create', 'x'.repeat(101), '--role', 'viewer', '--password-stdin'], '1 to 100'],
      [undefined, create.slice(0, 4), 'There is no terminal to ask for the password'],
      ['short', ['set-password', name, '--password-stdin'], 'at least 12 characters'],
      [newPassword(), ['set-password', 'nobody', '--password-stdin'], 'There is no such user.'],
      [undefined, ['disable', 'nobody'], 'There is no such user.'],
      [undefined, ['set-role', 'nobody', 'admin'], 'There is no such user.'],
    ];
    const events = await userEvents(async () => {
      for (const [input, args, message] of refusals) {
        const { code, stdout, stderr } = await cli(input, 'users', ...args);
        expect({ args, code, stdout }).toEqual({ args, code: 1, stdout: '' });
        expect(stderr).toMatch(/^[^\n]+\n$/);
        expect(stderr).toContain(message);
        if (input) expect(stderr).not.toContain(input);
      }
    });
    expect(events).toEqual([]);
  });
});
