import { type Command, InvalidArgumentError, Option } from 'commander';
import { type IssuedLink, invitationPath } from '../../modules/auth/userManager.ts';
import {
  ALL_WORKSPACES,
  type Role,
  type Roles,
  roles,
  stateOf,
  type User,
  withRole,
} from '../../modules/auth/users.ts';
import { ServiceError } from '../../platform/errors.ts';
import { eventLogName, serviceAddress, type UserTools, withUsers } from '../../server/stores.ts';
import { example, readPassword, writeJson, writeLine, writeTable } from '../lib/terminal.ts';

interface PasswordOption {
  passwordStdin?: boolean;
}

interface JsonOption {
  json?: boolean;
}

const exampleName = 'ada@example.com';

/** Returns what is shown of a user: never the password's hash. */
function view(user: User) {
  const { id, name, roles, origin, createdAt, passwordSetAt, totpSetAt } = user;
  return {
    id,
    name,
    roles,
    state: stateOf(user),
    origin,
    created_at: createdAt,
    password_set_at: passwordSetAt ?? null,
    totp_set_at: totpSetAt ?? null,
  };
}

/** Returns the user with a name or an id. */
function findUser({ users }: UserTools, nameOrId: string): User {
  const user = users.findByName(nameOrId) ?? users.find(nameOrId);
  if (!user) throw new ServiceError('not_found', 'The user does not exist.');
  return user;
}

function parseRole(text: string): Role {
  const role = roles.find((one) => one === text);
  if (role) return role;
  throw new InvalidArgumentError(`Specify one of ${roles.join(', ')}.`);
}

interface RoleOptions {
  role?: Role;
  workspace?: string[];
  allWorkspaces?: boolean;
}

/** Returns the options that say in which workspaces a role applies. */
function workspaceOption(): Option {
  return new Option('--workspace <id>', 'a workspace in which the role applies; can be repeated').argParser(
    (id: string, others: string[] = []) => [...others, id],
  );
}

function allWorkspacesOption(): Option {
  return new Option('--all-workspaces', 'the role applies in all workspaces, also those created later');
}

/** Returns the workspaces that the options name; throws `validation_failed` without any, and for unknown ones. */
function workspacesOf(
  { workspaces }: UserTools,
  { workspace = [], allWorkspaces = false }: RoleOptions,
): string[] {
  if (allWorkspaces === workspace.length > 0) throw new ServiceError('validation_failed', NO_PLACE);
  if (allWorkspaces) return [ALL_WORKSPACES];
  const unknown = workspace.find((id) => !workspaces.has(id));
  if (unknown !== undefined) throw new ServiceError('not_found', `There is no workspace ${unknown}.`);
  return workspace;
}

const NO_PLACE =
  'Specify where the role applies: either --workspace, once for each workspace, or --all-workspaces.';

/** Returns roles for people: `admin`, `billing@clinic`. */
function rolesText(all: Roles): string {
  const texts = Object.entries(all).map(([workspace, role]) =>
    workspace === ALL_WORKSPACES ? role : `${role}@${workspace}`,
  );
  return texts.toSorted().join(', ') || 'none';
}

function parseRoleOrNone(text: string): Role | 'none' {
  return text === 'none' ? text : parseRole(text);
}

/** Returns the option of commands that take a password; it is not an argument, as others could see that. */
function passwordOption(): Option {
  return new Option('--password-stdin', 'read the password from standard input, up to the first line break');
}

async function createUser(name: string, options: RoleOptions & PasswordOption & JsonOption) {
  const password = await readPassword(options.passwordStdin === true);
  const user = await withUsers((tools) =>
    tools.manager.create({ name, roles: withRole({}, options.role, workspacesOf(tools, options)), password }),
  );
  if (options.json) writeJson(view(user));
  else {
    writeLine(`Made user ${user.name} with the role ${rolesText(user.roles)}. Its id is ${user.id}.`);
    writeLine(`Event log: ${eventLogName()}`);
  }
}

/** Creates a user with a link to choose a password, or another link for an existing user. */
async function inviteUser(name: string, options: RoleOptions & JsonOption): Promise<void> {
  const { user, link } = await withUsers(async (tools) => {
    const known = tools.users.findByName(name) ?? tools.users.find(name);
    const link = await issueLink(tools, name, known, options);
    return { link, user: tools.users.find(link.userId) as User };
  });
  const url = serviceAddress() + invitationPath(link);
  if (options.json) {
    writeJson({ ...view(user), url, expires_at: link.expiresAt });
    return;
  }
  writeLine(
    `With this link ${user.name} chooses a password, once, within 48 hours. Hand it over in a safe way:`,
  );
  writeLine();
  writeLine(`  ${url}`);
  writeLine();
  writeLine(`Event log: ${eventLogName()}`);
}

function issueLink(
  tools: UserTools,
  name: string,
  known: User | undefined,
  options: RoleOptions,
): Promise<IssuedLink> {
  const { links } = tools;
  if (options.role !== undefined)
    return links.invite({ name, roles: withRole({}, options.role, workspacesOf(tools, options)) });
  if (known) return links.inviteAgain(known.id);
  throw new ServiceError(
    'validation_failed',
    'The user does not exist yet. Specify its role with --role, and where it applies.',
  );
}

async function listUsers({ json }: JsonOption): Promise<void> {
  const found = await withUsers(async ({ users }) => users.all().map(view));
  if (json) writeJson(found);
  else if (found.length === 0) writeLine(`There are no users yet in the event log ${eventLogName()}.`);
  else
    writeTable(
      ['USER', 'NAME', 'ROLES', 'STATE', 'SIGNS IN BY', 'CREATED'],
      found.map(({ id, name, roles, state, origin, created_at, totp_set_at }) => [
        id,
        name,
        rolesText(roles),
        state,
        signsInBy(origin, totp_set_at),
        created_at,
      ]),
    );
}

function signsInBy(origin: User['origin'], totpSetAt: string | null): string {
  if (origin === 'openid_connect') return 'OpenID Connect';
  return totpSetAt === null ? 'password' : 'password, TOTP';
}

async function setPassword(user: string, { passwordStdin }: PasswordOption): Promise<void> {
  const password = await readPassword(passwordStdin === true);
  await withUsers((tools) => tools.manager.setPassword(findUser(tools, user).id, password));
  writeLine(`The password of ${user} is set; sessions that were open have ended.`);
}

/** `chartledger users …` */
export function addUserCommands(users: Command): void {
  users
    .command('create')
    .description('Create a user; asks for the password.')
    .argument('<name>', 'the name to sign in with, usually an email address')
    .requiredOption('--role <role>', `one of ${roles.join(', ')}`, parseRole)
    .addOption(workspaceOption())
    .addOption(allWorkspacesOption())
    .addOption(passwordOption())
    .option('--json', 'print the user as JSON')
    .addHelpText('after', example(`chartledger users create ${exampleName} --role admin --all-workspaces`))
    .action(createUser);

  users
    .command('invite')
    .description('Create a user with a link to choose a password, or a new link for an existing user.')
    .argument('<user>', 'the name of the new user, or the name or id of an existing one')
    .option('--role <role>', `the role of a new user: one of ${roles.join(', ')}`, parseRole)
    .addOption(workspaceOption())
    .addOption(allWorkspacesOption())
    .option('--json', 'print the user and the link as JSON')
    .addHelpText(
      'after',
      example(
        `chartledger users invite ${exampleName} --role compliance --workspace clinic`,
        `chartledger users invite ${exampleName}   # a new link, such as for a lost password`,
      ),
    )
    .action(inviteUser);

  users
    .command('list')
    .description('List all users.')
    .option('--json', 'print a JSON array')
    .addHelpText('after', example('chartledger users list'))
    .action(listUsers);

  users
    .command('set-password')
    .description("Set a user's password; asks for it.")
    .argument('<user>', 'the name or id of the user')
    .addOption(passwordOption())
    .addHelpText('after', example(`chartledger users set-password ${exampleName}`))
    .action(setPassword);

  users
    .command('set-role')
    .description("Set a user's role in workspaces, or take it away there.")
    .argument('<user>', 'the name or id of the user')
    .argument('<role>', `one of ${roles.join(', ')}, or none`, parseRoleOrNone)
    .addOption(workspaceOption())
    .addOption(allWorkspacesOption())
    .addHelpText(
      'after',
      example(
        `chartledger users set-role ${exampleName} billing --workspace clinic`,
        `chartledger users set-role ${exampleName} none --all-workspaces   # in no workspace`,
      ),
    )
    .action(async (user: string, role: Role | 'none', options: RoleOptions) => {
      const after = await withUsers(async (tools) => {
        const { id } = findUser(tools, user);
        await tools.manager.setRole(id, role === 'none' ? undefined : role, workspacesOf(tools, options));
        return tools.users.find(id) as User;
      });
      writeLine(`User ${user} now has the role ${rolesText(after.roles)}.`);
    });

  users
    .command('unlock')
    .description('Unlock a user whose name was locked after wrong passwords.')
    .argument('<user>', 'the name or id of the user')
    .addHelpText('after', example(`chartledger users unlock ${exampleName}`))
    .action(async (user: string) => {
      await withUsers((tools) => tools.manager.unlock(findUser(tools, user).id));
      writeLine(`User ${user} is unlocked.`);
    });

  users
    .command('reset-totp')
    .description("Remove a user's second factor, for example when the authenticator app is lost.")
    .argument('<user>', 'the name or id of the user')
    .addHelpText('after', example(`chartledger users reset-totp ${exampleName}`))
    .action(async (user: string) => {
      await withUsers((tools) => tools.resetTotp(findUser(tools, user).id));
      writeLine(`User ${user} signs in with only the password until another app is set up.`);
    });

  for (const { name, state, description, result } of stateCommands) {
    users
      .command(name)
      .description(description)
      .argument('<user>', 'the name or id of the user')
      .addHelpText('after', example(`chartledger users ${name} ${exampleName}`))
      .action(async (user: string) => {
        await withUsers((tools) => tools.manager.setState(findUser(tools, user).id, state));
        writeLine(`User ${user} ${result}.`);
      });
  }
}

/** The commands that only change the state of a user. */
const stateCommands = [
  {
    name: 'disable',
    state: 'disabled',
    description: 'Disable a user until it is enabled again; open sessions end.',
    result: 'is disabled',
  },
  { name: 'enable', state: 'active', description: 'Enable a disabled user.', result: 'is active' },
] as const;
