import { type Command, InvalidArgumentError, Option } from 'commander';
import { ServiceError } from '../errors.ts';
import { type Role, roles, type User } from '../users/user.ts';
import { example, writeJson, writeLine, writeTable } from './output.ts';
import { readPassword } from './readPassword.ts';
import { eventLogName, type UserTools, withUsers } from './withStores.ts';

interface PasswordOption {
  passwordStdin?: boolean;
}

interface JsonOption {
  json?: boolean;
}

const exampleName = 'ada@example.com';

/** What people see of a user: never the password's hash. */
function view({ id, name, role, state, origin, createdAt, passwordSetAt }: User) {
  return { id, name, role, state, origin, created_at: createdAt, password_set_at: passwordSetAt ?? null };
}

/** The user of a name or an id. */
function findUser({ users }: UserTools, nameOrId: string): User {
  const user = users.findByName(nameOrId) ?? users.find(nameOrId);
  if (!user) throw new ServiceError('not_found', 'There is no such user.');
  return user;
}

function parseRole(text: string): Role {
  const role = roles.find((one) => one === text);
  if (role) return role;
  throw new InvalidArgumentError(`Give one of ${roles.join(', ')}.`);
}

/** Option of the commands that take a password; there is no argument for it, as others could see it. */
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

async function listUsers({ json }: JsonOption): Promise<void> {
  const found = await withUsers(async ({ users }) => users.all().map(view));
  if (json) writeJson(found);
  else if (found.length === 0) writeLine(`There are no users yet in the event log ${eventLogName()}.`);
  else
    writeTable(
      ['USER', 'NAME', 'ROLE', 'STATE', 'SIGNS IN BY', 'CREATED'],
      found.map(({ id, name, role, state, origin, created_at }) => [
        id,
        name,
        role,
        state,
        origin === 'password' ? 'password' : 'OpenID Connect',
        created_at,
      ]),
    );
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
    .description('Users of the dashboard. A running service follows every change by itself.');

  users
    .command('create')
    .description('Make a user; asks for the password.')
    .argument('<name>', 'what is typed at sign-in, usually an e-mail address')
    .requiredOption('--role <role>', `one of ${roles.join(', ')}`, parseRole)
    .addOption(passwordOption())
    .option('--json', 'print the user as JSON')
    .addHelpText('after', example(`chartledger users create ${exampleName} --role admin`))
    .action(createUser);

  users
    .command('list')
    .description('List all users.')
    .option('--json', 'print a JSON array')
    .addHelpText('after', example('chartledger users list'))
    .action(listUsers);

  users
    .command('set-password')
    .description('Give a user another password; asks for it.')
    .argument('<user>', 'the name or the id of the user')
    .addOption(passwordOption())
    .addHelpText('after', example(`chartledger users set-password ${exampleName}`))
    .action(setPassword);

  users
    .command('set-role')
    .description('Give a user another role.')
    .argument('<user>', 'the name or the id of the user')
    .argument('<role>', `one of ${roles.join(', ')}`, parseRole)
    .addHelpText('after', example(`chartledger users set-role ${exampleName} compliance`))
    .action(async (user: string, role: Role) => {
      await withUsers((tools) => tools.manager.setRole(findUser(tools, user).id, role));
      writeLine(`User ${user} has the role ${role}.`);
    });

  for (const { name, state, description, result } of stateCommands) {
    users
      .command(name)
      .description(description)
      .argument('<user>', 'the name or the id of the user')
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
    description: 'Keep a user out, until it is enabled again; open sessions end.',
    result: 'is disabled',
  },
  { name: 'enable', state: 'active', description: 'Let a disabled user in again.', result: 'is active' },
] as const;
