import { type Command, InvalidArgumentError } from 'commander';
import { everyTerm } from '../../domain/events/payloads.ts';
import {
  type ApiKey,
  endAt,
  limitNames,
  limitSentences,
  limitsOfKey,
  type NullableLimits,
  stateOf,
} from '../../modules/auth/apiKeys.ts';
import type { CreatedKey } from '../../modules/auth/keyManager.ts';
import {
  type Permission,
  permissionSchema,
  permissions,
  scopeKinds,
} from '../../modules/auth/permissions.ts';
import { parsePublicKeys } from '../../modules/auth/publicKeys.ts';
import { deleteKey } from '../../modules/webhooks/manager.ts';
import { WebhookDirectory } from '../../modules/webhooks/webhook.ts';
import { ServiceError } from '../../platform/errors.ts';
import { eventLogName, withKeys } from '../../server/stores.ts';
import { readJsonFile } from '../lib/files.ts';
import { durationOf, parseDuration, parseInstant } from '../lib/options.ts';
import { example, writeJson, writeLine, writeTable } from '../lib/terminal.ts';
import { addTermOptions, type TermOptions, termsOfOptions } from '../lib/termOptions.ts';

/** The values of the options of `addLimitOptions`; a keyword removes a limit. */
interface LimitOptions {
  expires?: string;
  network?: string[];
  rateLimit?: number | 'none';
}

/** `2027-06-30`, `90d`, `never`. */
function parseEnd(text: string): string {
  if (text === 'never') return text;
  const seconds = durationOf(text);
  if (seconds !== undefined) return endAt(Date.now() + seconds * 1000);
  return parseInstant(text);
}

/** `192.0.2.0/24,2001:db8::/32`, may be repeated; `any`. */
function parseNetworks(text: string, before: string[] = []): string[] {
  if (text === 'any') return [];
  return [...before, ...text.split(',').map((part) => part.trim())];
}

/** `6000/min`, `none`. */
function parseRate(text: string): number | 'none' {
  if (text === 'none') return text;
  const [, perMinute] = /^(\d{1,9})\/min$/.exec(text) ?? [];
  if (perMinute !== undefined) return Number(perMinute);
  throw new InvalidArgumentError('Specify requests per minute, such as 6000/min, or none.');
}

/** Adds the options that restrict the use of a key. */
function addLimitOptions(command: Command): Command {
  return command
    .option(
      '--expires <time>',
      'when it expires: an ISO 8601 date or date-time, a time from now such as 90d, or never',
      parseEnd,
    )
    .option(
      '--network <cidr>',
      'accept it only from this network, such as 192.0.2.0/24 or 2001:db8::/32; separate several with ' +
        'commas, or repeat the option; any: from anywhere',
      parseNetworks,
    )
    .option(
      '--rate-limit <rate>',
      'count its requests by key instead of by client address: a limit such as 6000/min; none: by address',
      parseRate,
    );
}

/** Splits options into the limits and the rest. */
function limitsOfOptions<Options extends LimitOptions>(options: Options) {
  const { expires, network, rateLimit, ...others } = options;
  const sent: NullableLimits = {
    expires_at: expires === 'never' ? null : expires,
    networks: network,
    rate_limit: rateLimit === 'none' ? null : rateLimit,
  };
  const given = limitNames.filter((name) => sent[name] !== undefined).map((name) => [name, sent[name]]);
  const limits: NullableLimits = Object.fromEntries(given);
  return { limits, others };
}

interface ListOptions {
  workspace?: string;
  json?: boolean;
}

/** Returns what is shown of a key: never its hash. */
function view(key: ApiKey) {
  const {
    id,
    workspace,
    name,
    permissions,
    createdAt,
    createdBy,
    expiresAt,
    networks,
    rateLimit,
    replacedBy,
    publicKeys = [],
  } = key;
  return {
    id,
    workspace,
    name,
    permissions,
    state: stateOf(key, Date.now()),
    created_at: createdAt,
    created_by: createdBy,
    expires_at: expiresAt ?? null,
    networks: networks ?? null,
    rate_limit: rateLimit ?? null,
    replaced_by: replacedBy ?? null,
    public_keys: publicKeys.map(({ kid }) => kid),
    ...everyTerm(key.terms ?? {}),
  };
}

/** `chartledger keys list` */
async function listKeys({ workspace, json }: ListOptions): Promise<void> {
  const found = await withKeys(async ({ known }) => {
    if (workspace !== undefined && !known.workspaces.has(workspace)) {
      throw new ServiceError('not_found', `Workspace ${workspace} does not exist.`);
    }
    const keys = [...known.keys.values()].map(view);
    return workspace === undefined ? keys : keys.filter((key) => key.workspace === workspace);
  });
  if (json) writeJson(found);
  else if (found.length === 0) {
    const none = workspace === undefined ? 'There are no keys yet' : `Workspace ${workspace} has no keys yet`;
    writeLine(`${none} in the event log ${eventLogName()}.`);
  } else
    writeTable(
      [
        ...['KEY', 'WORKSPACE', 'NAME', 'PERMISSIONS', 'STATE', 'CREATED', 'CREATED BY', 'EXPIRES'],
        ...['NETWORKS', 'RATE LIMIT', 'RECIPIENT', 'PURPOSE'],
      ],
      found.map((key) => [
        key.id,
        key.workspace,
        key.name,
        key.permissions.join(','),
        key.state,
        key.created_at,
        key.created_by.id,
        key.expires_at ?? '-',
        key.networks?.join(',') ?? '-',
        key.rate_limit === null ? '-' : `${key.rate_limit}/min`,
        key.recipient ?? '-',
        key.purpose ?? '-',
      ]),
    );
}

interface CreateOptions extends TermOptions, LimitOptions {
  workspace: string;
  createWorkspace?: boolean;
  name: string;
  permissions: Permission[];
  json?: boolean;
}

interface RotateOptions {
  /** In seconds. */
  expires: number;
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
  const { workspace, createWorkspace = false, name, permissions, json } = others;
  const { id, key, ...made } = await withKeys(({ manager, known }) => {
    if (!createWorkspace && !known.workspaces.has(workspace))
      throw new ServiceError(
        'not_found',
        `Workspace ${workspace} does not exist in the event log ${eventLogName()}. To create it with the key, add --create-workspace.`,
      );
    return manager.createKey(workspace, name, permissions, terms, limits);
  });
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

async function rotateKey(id: string, { expires, json }: RotateOptions): Promise<void> {
  const rotated = await withKeys(({ manager }) => manager.rotateKey(id, expires));
  const { previousExpiresAt, ...made } = rotated;
  if (json) {
    writeJson({ ...made, replaces: id, previous_expires_at: previousExpiresAt });
    return;
  }
  showKey(made);
  const end = expires === 0 ? 'is refused from now on' : `is taken until ${previousExpiresAt}`;
  writeLine(`Key ${id}, which it replaces, ${end}.`);
}

interface SetOptions extends TermOptions, LimitOptions {
  publicKeys?: string;
}

async function setKey(id: string, options: SetOptions, command: Command): Promise<void> {
  const { terms, others } = termsOfOptions(options);
  const { limits } = limitsOfOptions(others);
  const [changesTerms, changesLimits] = [terms, limits].map((given) => Object.keys(given).length > 0);
  const { publicKeys: file } = options;
  if (!changesTerms && !changesLimits && file === undefined)
    command.error(
      'error: specify what to set: --expires, --network, --rate-limit, --public-keys, --recipient, --purpose, …',
    );
  const publicKeys =
    file === undefined ? undefined : file === 'none' ? [] : parsePublicKeys(await readJsonFile(file));
  await withKeys(async ({ manager, known }) => {
    if (publicKeys) {
      await manager.setPublicKeys(id, publicKeys);
      const named = publicKeys.map(({ kid }) => kid).join(', ');
      writeLine(
        `Set the public keys of key ${id}. ${named === '' ? 'It has none.' : `It has ${named}. The client id is ${id}.`}`,
      );
    }
    if (changesLimits) {
      await manager.setLimits(id, limits);
      const lines = limitSentences(limitsOfKey(known.keys.get(id) as ApiKey));
      writeLine(`Set the limits of key ${id}. ${lines.length === 0 ? 'It has none.' : lines.join(' ')}`);
    }
    if (changesTerms) {
      await manager.updateKey(id, terms);
      writeLine(
        `Set recipient and purpose of key ${id}. What was read with it before keeps the earlier ones.`,
      );
    }
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
  writeLine(`Key ${id} is permanently deleted.`);
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
    `${intent}: chartledger webhooks set ${first.id} --workspace ${first.workspace} --state ${state}`,
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
export function addKeyCommands(keys: Command): void {
  const create = addTermOptions(
    keys
      .command('create')
      .description('Create an API key.')
      .requiredOption('--workspace <id>', 'the workspace that the key can access')
      .option('--create-workspace', 'create the workspace if it does not exist')
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

  const set = addLimitOptions(
    keys
      .command('set')
      .description(
        'Set when a key expires, where it is accepted from, how many requests it may send, with which public keys access tokens ' +
          'are requested, and who receives the data read with it, and why. Options that are not given keep their values; an empty value, or the purpose none, clears one.',
      )
      .argument('<key-id>', 'the id of the key, as listed')
      .option(
        '--public-keys <file>',
        'request access tokens for FHIR with the private keys of these: a JWK set or a JWK; none: with none',
      ),
  );
  addTermOptions(set)
    .addHelpText(
      'after',
      example(
        'chartledger keys set key_4fTq9LmZs2Xw8RbC --expires 2027-06-30 --network any --rate-limit 600/min',
        'chartledger keys set key_4fTq9LmZs2Xw8RbC --public-keys emr.jwks.json',
        'chartledger keys set key_4fTq9LmZs2Xw8RbC --recipient "Billing Partners LLC" --recipient-address "12 Main St, Omaha, NE 68102" --purpose payment',
      ),
    )
    .action(setKey);

  keys
    .command('rotate')
    .description('Create a key that replaces another; the replaced key expires after a while.')
    .argument('<key-id>', 'the id of the key to replace, as listed')
    .option(
      '--expires <time>',
      'when the replaced key expires: a time from now, at most 30d, or 0s (default: "1d")',
      parseDuration,
      86_400,
    )
    .option('--json', 'print the new key as JSON')
    .addHelpText('after', example('chartledger keys rotate key_4fTq9LmZs2Xw8RbC --expires 7d'))
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
