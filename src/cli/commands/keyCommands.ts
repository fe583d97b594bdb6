import { type Command, InvalidArgumentError } from 'commander';
import type { CreatedKey } from '../../modules/auth/KeyManager.ts';
import { limitSentences } from '../../modules/auth/keyLimits.ts';
import { type ApiKey, limitsOfKey } from '../../modules/auth/keyState.ts';
import {
  type Permission,
  permissionSchema,
  permissions,
  scopeKinds,
} from '../../modules/auth/permissions.ts';
import { deleteKey } from '../../modules/webhooks/deleteKey.ts';
import { WebhookDirectory } from '../../modules/webhooks/WebhookDirectory.ts';
import { ServiceError } from '../../platform/errors.ts';
import { eventLogName, withKeys } from '../../server/withStores.ts';
import { example, writeJson, writeLine, writeTable } from '../lib/output.ts';
import { addTermOptions, type TermOptions, termsOfOptions } from '../lib/termOptions.ts';
import { addLimitOptions, type LimitOptions, limitsOfOptions } from './limitOptions.ts';
import { listKeys } from './listKeys.ts';
import { parseDuration } from './parseDuration.ts';

interface CreateOptions extends TermOptions, LimitOptions {
  workspace: string;
  name: string;
  permissions: Permission[];
  json?: boolean;
}

interface RotateOptions {
  /** In seconds. */
  expiresIn: number;
  json?: boolean;
}

/** Parses `write,read`, `write:encounter` as a list of permissions. */
function parsePermissions(text: string): Permission[] {
  const result = permissionSchema.array().safeParse(text.split(',').map((part) => part.trim()));
  if (result.success) return result.data;
  throw new InvalidArgumentError(
    `Specify one or more of ${permissions.join(', ')}, separated by commas; for a single kind, write:KIND or read:KIND, where KIND is one of ${scopeKinds.join(', ')}.`,
  );
}

async function createKey(options: CreateOptions): Promise<void> {
  const { terms, others: withoutTerms } = termsOfOptions(options);
  const { limits, others } = limitsOfOptions(withoutTerms);
  const { workspace, name, permissions, json } = others;
  const { id, key, ...made } = await withKeys(({ manager }) =>
    manager.createKey(workspace, name, permissions, terms, limits),
  );
  if (json) {
    writeJson({ id, key, ...made });
    return;
  }
  showKey({ id, key, ...made });
}

function showKey({ id, key, workspace, permissions, ...limits }: CreatedKey): void {
  writeLine('The API key, shown only now:');
  writeLine();
  writeLine(`  ${key}`);
  writeLine();
  writeLine(`Its id is ${id}. Workspace: ${workspace}. Permissions: ${permissions.join(', ')}.`);
  for (const line of limitSentences(limits)) writeLine(line);
  writeLine(`Event log: ${eventLogName()}`);
}

async function rotateKey(id: string, { expiresIn, json }: RotateOptions): Promise<void> {
  const rotated = await withKeys(({ manager }) => manager.rotateKey(id, expiresIn));
  const { previousExpiresAt, ...made } = rotated;
  if (json) {
    writeJson({ ...made, replaces: id, previous_expires_at: previousExpiresAt });
    return;
  }
  showKey(made);
  const end = expiresIn === 0 ? 'is refused from now on' : `is taken until ${previousExpiresAt}`;
  writeLine(`Key ${id}, which it replaces, ${end}.`);
}

async function updateKey(id: string, options: TermOptions): Promise<void> {
  const { terms } = termsOfOptions(options);
  if (Object.keys(terms).length === 0) {
    throw new ServiceError(
      'validation_failed',
      'Specify what to change: --recipient, --purpose, …; see --help.',
    );
  }
  await withKeys(({ manager }) => manager.updateKey(id, terms));
  writeLine(`Key ${id} is changed. What was read with it before keeps the recipient and purpose of then.`);
}

async function limitKey(id: string, options: LimitOptions): Promise<void> {
  const { limits } = limitsOfOptions(options);
  if (Object.keys(limits).length === 0) {
    throw new ServiceError(
      'validation_failed',
      'Specify what to change: --expires, --network, --rate-limit; see --help.',
    );
  }
  await withKeys(async ({ manager, known }) => {
    await manager.setLimits(id, limits);
    const lines = limitSentences(limitsOfKey(known.keys.get(id) as ApiKey));
    writeLine(`The limits of key ${id} are set. ${lines.length === 0 ? 'It has none.' : lines.join(' ')}`);
  });
}

async function removeKey(id: string, { keepWebhooks = false }: { keepWebhooks?: boolean }): Promise<void> {
  const found = await withKeys(async ({ eventLog, manager: keys, ...tools }) => {
    const webhooks = await WebhookDirectory.open(eventLog);
    try {
      return await deleteKey({ ...tools, keys, webhooks }, id, { keepWebhooks });
    } finally {
      webhooks.close();
    }
  });
  writeLine(`Key ${id} is deleted, for ever.`);
  const [first] = found;
  if (first === undefined) return;
  writeLine();
  writeLine(keepWebhooks ? 'Its webhooks go on sending:' : 'Its webhooks are disabled, and send nothing:');
  writeTable(
    ['WEBHOOK', 'WORKSPACE', 'PAYLOAD', 'URL'],
    found.map(({ id: webhookId, workspace, payload, url }) => [webhookId, workspace, payload, url]),
  );
  writeLine();
  const state = keepWebhooks ? 'disabled' : 'enabled';
  const intent = keepWebhooks ? 'To stop one' : 'To let one go on';
  writeLine(
    `${intent}: chartledger webhooks update ${first.id} --workspace ${first.workspace} --state ${state}`,
  );
}

/** The commands that only change the state of a key. */
const stateCommands = [
  {
    name: 'deactivate',
    state: 'deactivated',
    description: 'Refuse a key until it is activated again.',
    result: 'is deactivated: it is refused',
  },
  { name: 'activate', state: 'active', description: 'Accept a deactivated key again.', result: 'is active' },
] as const;

/** `chartledger keys …` */
export function addKeyCommands(program: Command): void {
  const keys = program
    .command('keys')
    .description(
      'API keys: each belongs to one workspace. A running service picks up every change automatically.',
    );

  const create = addTermOptions(
    keys
      .command('create')
      .description('Create an API key, and its workspace if it does not exist.')
      .requiredOption('--workspace <id>', 'the workspace that the key can access')
      .option('--name <name>', 'the name of the key, for people', 'API key')
      .option(
        '--permissions <list>',
        `any of ${permissions.join(', ')}; for a single kind write:KIND, read:KIND ` +
          `(${scopeKinds.join(', ')})`,
        parsePermissions,
        ['write'],
      )
      .option('--json', 'print the key as JSON'),
  );
  addLimitOptions(create)
    .addHelpText(
      'after',
      example(
        'chartledger keys create --workspace clinic --name "EMR nightly sync" --permissions write,read',
        'chartledger keys create --workspace clinic --name Scheduling --permissions write:encounter --expires 90d --network 192.0.2.0/24 --rate-limit 6000/min',
      ),
    )
    .action(createKey);

  keys
    .command('list')
    .description('List keys; the keys themselves are not stored.')
    .option('--workspace <id>', 'only the keys of this workspace')
    .option('--json', 'print a JSON array')
    .addHelpText('after', example('chartledger keys list --workspace clinic'))
    .action(listKeys);

  addTermOptions(
    keys
      .command('update')
      .description(
        'Set who receives the data read with a key, and why. Options that are not given keep their values; ' +
          'an empty value, or the purpose none, clears one.',
      )
      .argument('<key-id>', 'the id of the key, as listed'),
  )
    .addHelpText(
      'after',
      example(
        'chartledger keys update key_4fTq9LmZs2Xw8RbC --recipient "Billing Partners LLC" --recipient-address "12 Main St, Omaha, NE 68102" --purpose payment',
      ),
    )
    .action(updateKey);

  addLimitOptions(
    keys
      .command('limit')
      .description(
        'Set when a key expires, where it is accepted from, or how many requests it may send. Options that ' +
          'are not given keep their values.',
      )
      .argument('<key-id>', 'the id of the key, as listed'),
  )
    .addHelpText(
      'after',
      example(
        'chartledger keys limit key_4fTq9LmZs2Xw8RbC --expires 2027-06-30 --network any --rate-limit 600/min',
      ),
    )
    .action(limitKey);

  keys
    .command('rotate')
    .description('Create a key that replaces another; the replaced key expires after a while.')
    .argument('<key-id>', 'the id of the key to replace, as listed')
    .option(
      '--expires-in <time>',
      'how long the replaced key is still accepted, at most 30d',
      parseDuration,
      86_400,
    )
    .option('--json', 'print the new key as JSON')
    .addHelpText('after', example('chartledger keys rotate key_4fTq9LmZs2Xw8RbC --expires-in 7d'))
    .action(rotateKey);

  keys
    .command('delete')
    .description('Delete a key and disable the webhooks created with it. This cannot be undone.')
    .argument('<key-id>', 'the id of the key, as listed')
    .option('--keep-webhooks', 'let the webhooks that were created with it keep sending')
    .addHelpText('after', example('chartledger keys delete key_4fTq9LmZs2Xw8RbC'))
    .action(removeKey);

  for (const { name, state, description, result } of stateCommands) {
    keys
      .command(name)
      .description(description)
      .argument('<key-id>', 'the id of the key, as listed')
      .addHelpText('after', example(`chartledger keys ${name} key_4fTq9LmZs2Xw8RbC`))
      .action(async (id: string) => {
        await withKeys(({ manager }) => manager.setKeyState(id, state));
        writeLine(`Key ${id} ${result}.`);
      });
  }
}
