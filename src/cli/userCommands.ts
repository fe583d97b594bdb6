import { type Command, InvalidArgumentError, Option } from 'commander';
import { eventLogName, serviceAddress, type UserTools, withUsers } from '../app/withStores.ts';
import { ServiceError } from '../errors.ts';
import { type IssuedLink, invitationPath } from '../principals/users/UserLinks.ts';
import { type Role, roles, stateOf, type User } from '../principals/users/user.ts';
import { example, writeJson, writeLine, writeTable } from './output.ts';
import { readPassword } from './readPassword.ts';

interface PasswordOption {
  passwordStdin?: boolean;
}

interface JsonOption {
  json?: boolean;
}

const exampleName = 'ada@example.com';

/** Returns what is shown of a user: never the password's hash. */
function view(user: User) {
  const { id, name, role, origin, createdAt, passwordSetAt, totpSetAt } = user;
  return {
    id,
    name,
    role,
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

/** Returns the option of commands that take a password; it is not an argument, as others could see that. */
function passwordOption(): Option {
  return new Option('--password-stdin', 'read the password from standard input, up to the first line break');
}

async function createUser(name: string, options: { role: Role } & PasswordOption & JsonOption) {
  const password = await readPassword(options.passwordStdin === true);
  const user = await withUsers(({ manager }) => manager.create({ name, role: options.role, password }));
  if (options.json) writeJson(view(user));
  else {
    writeLine(`Made user ${user.name} with the role ${user.role}. Its id is ${user.id}.`);
    writeLine(`Event log: ${eventLogName()}`);
  }
}

/** Creates a user with a link to choose a password, or another link for an existing user. */
async function inviteUser(name: string, { role, json }: { role?: Role } & JsonOption): Promise<void> {
  const { user, link } = await withUsers(async (tools) => {
    const known = tools.users.findByName(name) ?? tools.users.find(name);
    const link = await issueLink(tools, name, known, role);
    return { link, user: tools.users.find(link.userId) as User };
  });
  const url = serviceAddress() + invitationPath(link);
  if (json) {
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
  { links }: UserTools,
  name: string,
  known: User | undefined,
  role: Role | undefined,
): Promise<IssuedLink> {
  if (role !== undefined) return links.invite({ name, role });
  if (known) return links.inviteAgain(known.id);
  throw new ServiceError('validation_failed', 'The user does not exist yet. Specify its role with --role.');
}

async function listUsers({ json }: JsonOption): Promise<void> {
  const found = await withUsers(async ({ users }) => users.all().map(view));
  if (json) writeJson(found);
  else if (found.length === 0) writeLine(`There are no users yet in the event log ${eventLogName()}.`);
  else
    writeTable(
      ['USER', 'NAME', 'ROLE', 'STATE', 'SIGNS IN BY', 'CREATED'],
      found.map(({ id, name, role, state, origin, created_at, totp_set_at }) => [
        id,
        name,
        role,
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
export function addUserCommands(program: Command): void {
  const users = program
    .command('users')
    .description('Users of the dashboard. A running service picks up every change automatically.');

  users
    .command('create')
    .description('Create a user; asks for the password.')
    .argument('<name>', 'the name to sign in with, usually an email address')
    .requiredOption('--role <role>', `one of ${roles.join(', ')}`, parseRole)
    .addOption(passwordOption())
    .option('--json', 'print the user as JSON')
    .addHelpText('after', example(`chartledger users create ${exampleName} --role admin`))
    .action(createUser);

  users
    .command('invite')
    .description('Create a user with a link to choose a password, or a new link for an existing user.')
    .argument('<user>', 'the name of the new user, or the name or id of an existing one')
    .option('--role <role>', `the role of a new user: one of ${roles.join(', ')}`, parseRole)
    .option('--json', 'print the user and the link as JSON')
    .addHelpText(
      'after',
      example(
        `chartledger users invite ${exampleName} --role compliance`,
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
    .description("Change a user's role.")
    .argument('<user>', 'the name or id of the user')
    .argument('<role>', `one of ${roles.join(', ')}`, parseRole)
    .addHelpText('after', example(`chartledger users set-role ${exampleName} compliance`))
    .action(async (user: string, role: Role) => {
      await withUsers((tools) => tools.manager.setRole(findUser(tools, user).id, role));
      writeLine(`User ${user} has the role ${role}.`);
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
      writeLine(`User ${user} signs in by the password alone, until another app is set up.`);
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
