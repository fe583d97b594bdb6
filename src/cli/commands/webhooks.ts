import { type Command, InvalidArgumentError, Option } from 'commander';
import { subjectKinds } from '../../domain/records/catalog.ts';
import { unchangedEvents } from '../../modules/eventStream/cloudEvents.ts';
import { attemptOutcomes, type DeliveryAttempt } from '../../modules/webhooks/attempts.ts';
import type { WebhookStatusView } from '../../modules/webhooks/manager.ts';
import { webhookPayloads } from '../../modules/webhooks/webhook.ts';
import { eventLogName, withWebhooks } from '../../server/stores.ts';
import { parseDuration } from '../lib/options.ts';
import { example, writeJson, writeLine, writeTable } from '../lib/terminal.ts';
import { addTermOptions, type TermOptions, termsOfOptions } from '../lib/termOptions.ts';

/** Prints webhooks, and the state of their delivery. */
function writeWebhooks(found: WebhookStatusView[]): void {
  writeTable(
    [
      'WEBHOOK',
      'STATE',
      'PAYLOAD',
      'EVENTS',
      'PENDING',
      'OLDEST',
      'BLOCKED',
      'FAILED',
      'LAST SUCCESS',
      'RECIPIENT',
      'PURPOSE',
      'MADE BY',
      'URL',
    ],
    found.map(({ id, state, disabled_reason, payload, kinds, types, url, delivery, ...view }) => [
      id,
      stateOf(state, disabled_reason ?? delivery.problem),
      payload,
      (types ?? kinds ?? ['all']).join(','),
      `${delivery.pending}${delivery.pending_is_exact ? '' : '+'}`,
      delivery.oldest_pending_at ? ageOf(delivery.oldest_pending_at) : '-',
      String(delivery.blocked),
      String(delivery.failed),
      delivery.last_success_at ?? '-',
      view.recipient ?? '-',
      view.purpose ?? '-',
      view.created_by.id,
      url,
    ]),
  );
}

/** Prints delivery attempts. */
function writeAttempts(items: DeliveryAttempt[]): void {
  writeTable(
    ['TIME', 'MESSAGE', 'TYPE', 'RECORD', 'VERSION', 'TRY', 'OUTCOME', 'STATUS', 'MS', 'NEXT TRY'],
    items.map((item) => [
      item.at,
      item.message_id,
      item.type,
      [item.record_id, item.document_id].filter(Boolean).join('/') || '-',
      String(item.version ?? '-'),
      String(item.attempt),
      item.outcome,
      String(item.status ?? item.error ?? '-'),
      String(item.duration_ms),
      item.next_attempt_at ?? '-',
    ]),
  );
}

function stateOf(state: string, reason: string | null): string {
  return reason === null ? state : `${state} (${reason})`;
}

/** `3 d`, `5 h`, `12 min`, `8 s`. */
function ageOf(instant: string): string {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(instant)) / 1000));
  if (seconds >= 172_800) return `${Math.floor(seconds / 86_400)} d`;
  if (seconds >= 7_200) return `${Math.floor(seconds / 3_600)} h`;
  return seconds >= 120 ? `${Math.floor(seconds / 60)} min` : `${seconds} s`;
}

interface Scope {
  workspace: string;
  json?: boolean;
}

interface Settings extends TermOptions {
  url?: string;
  description?: string;
  kinds?: string;
  types?: string;
  payload?: string;
  unchanged?: string;
}

const exampleId = 'wh_7bQ2nVx0KfT4sLdR';

/** Returns settings in the API's form: lists, and `null` for cleared ones. */
function bodyOf<More extends object>(options: Settings & More) {
  const { terms, others } = termsOfOptions(options);
  const { description, kinds, types, ...more } = others;
  const list = (text: string) => (text.trim() === 'all' ? null : text.split(',').map((part) => part.trim()));
  return {
    ...more,
    ...terms,
    ...(description !== undefined && { description: description || null }),
    ...(kinds !== undefined && { kinds: list(kinds) }),
    ...(types !== undefined && { types: list(types) }),
  };
}

function parseNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Give a whole number.');
}

function showSecret(secret: string): void {
  writeLine('The secret that signs the messages, shown only now:');
  writeLine();
  writeLine(`  ${secret}`);
  writeLine();
}

async function create({ workspace, json, ...body }: Scope & Settings & { start: string }): Promise<void> {
  const { webhook, secret } = await withWebhooks(workspace, (manager, caller) =>
    manager.create(caller, bodyOf(body)),
  );
  if (json) {
    writeJson({ ...webhook, secret });
    return;
  }
  showSecret(secret);
  writeLine(`The id of the webhook is ${webhook.id}. Payload: ${webhook.payload}. Start: ${body.start}.`);
  writeLine(`Event log: ${eventLogName()}`);
}

async function list({ workspace, json }: Scope): Promise<void> {
  const { found, isDeactivated } = await withWebhooks(workspace, async (manager, caller) => ({
    found: await manager.views(await manager.list(caller)),
    isDeactivated: manager.isDeactivated(workspace),
  }));
  if (json) writeJson(found);
  else if (found.length === 0) writeLine('There are no webhooks yet.');
  else writeWebhooks(found);
  if (!json && isDeactivated) {
    writeLine(`Nothing is sent: workspace ${workspace} is deactivated.`);
  }
}

async function set(id: string, { workspace, json, ...body }: Scope & Settings): Promise<void> {
  const webhook = await withWebhooks(workspace, (manager, caller) =>
    manager.update(caller, id, bodyOf(body)),
  );
  if (json) writeJson(webhook);
  else writeLine(`Webhook ${id} is ${webhook.state}. Payload: ${webhook.payload}. URL: ${webhook.url}`);
}

async function rotateSecret(
  id: string,
  { workspace, json, expires }: Scope & { expires?: number },
): Promise<void> {
  const body = expires === undefined ? {} : { overlap_seconds: expires };
  const { webhook, secret } = await withWebhooks(workspace, (manager, caller) =>
    manager.rotateSecret(caller, id, body),
  );
  if (json) {
    writeJson({ ...webhook, secret });
    return;
  }
  showSecret(secret);
  const until = webhook.previous_secret_expires_at;
  writeLine(until ? `The previous one also signs until ${until}.` : 'The previous one signs no longer.');
}

interface ReplayOptions extends Scope {
  after?: string;
  since?: string;
  message?: string;
  failed?: true;
}

async function replay(
  id: string,
  { workspace, after, since, message, failed }: ReplayOptions,
): Promise<void> {
  const asked = { after, from: since, message_id: message, failed };
  const body = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
  await withWebhooks(workspace, (manager, caller) => manager.replay(caller, id, body));
  writeLine(`The messages of webhook ${id} will be sent again.`);
}

interface AttemptsOptions extends Scope {
  limit: number;
  outcome?: DeliveryAttempt['outcome'];
  kind?: DeliveryAttempt['kind'];
  record?: string;
}

async function attempts(
  id: string,
  { workspace, json, limit, outcome, kind, record: record_id }: AttemptsOptions,
): Promise<void> {
  const { items } = await withWebhooks(workspace, (manager, caller) =>
    manager.attempts(caller, id, { limit, pageToken: undefined }, { outcome, kind, record_id }),
  );
  if (json) writeJson(items);
  else if (items.length === 0) writeLine('Nothing was sent in the last 30 days.');
  else writeAttempts(items);
}

function addSettings(command: Command): Command {
  return addTermOptions(command)
    .option('--description <text>', 'a description for people; an empty one clears it')
    .option('--kinds <list>', 'only events of these kinds, separated by commas, or all')
    .option('--types <list>', 'only events of these types, separated by commas, or all')
    .addOption(
      new Option(
        '--payload <payload>',
        'what messages contain: no values, all values, those of a limited data set, or only de-identified values',
      ).choices(webhookPayloads),
    )
    .addOption(
      new Option(
        '--unchanged <choice>',
        'what to do with events that changed no field of their record',
      ).choices(unchangedEvents),
    );
}

/** `chartledger webhooks …` */
export function addWebhookCommands(webhooks: Command): void {
  const command = (usage: string, description: string, ...examples: string[]) =>
    webhooks
      .command(usage)
      .description(description)
      .requiredOption('--workspace <id>', 'the workspace of the webhook')
      .addHelpText('after', example(...examples.map((one) => `chartledger webhooks ${one}`)));

  addSettings(
    command(
      'create',
      'Send the events of a workspace to a URL, and print the secret that signs them.',
      'create --workspace clinic --url https://billing.example.com/hooks --start beginning',
    ).requiredOption('--url <url>', 'the URL to send messages to: https, with a public address'),
  )
    .option('--start <start>', 'where to start: now, beginning, a position, or an ISO 8601 time', 'now')
    .option('--json', 'print the webhook as JSON')
    .action(create);

  command('list', 'List webhooks with their delivery status.', 'list --workspace clinic')
    .option('--json', 'print a JSON array')
    .action(list);

  addSettings(
    command(
      'set <webhook-id>',
      'Change, disable or enable a webhook. Options that are not given keep their values.',
      `set ${exampleId} --workspace clinic --kinds patient,encounter`,
      `set ${exampleId} --workspace clinic --state enabled`,
    ).option('--url <url>', 'the URL to send messages to: https, with a public address'),
  )
    .addOption(
      new Option('--state <state>', 'the new state; an enabled webhook resumes where it stopped').choices([
        'enabled',
        'disabled',
      ]),
    )
    .option('--json', 'print the webhook as JSON')
    .action(set);

  command(
    'delete <webhook-id>',
    'Delete a webhook; nothing more is sent to it. This cannot be undone.',
    `delete ${exampleId} --workspace clinic`,
  ).action(async (id: string, { workspace }: Scope) => {
    await withWebhooks(workspace, (manager, caller) => manager.delete(caller, id));
    writeLine(`Webhook ${id} is permanently deleted.`);
  });

  command(
    'rotate <webhook-id>',
    'Rotate the secret of a webhook; for a while, messages are signed with the previous secret as well.',
    `rotate ${exampleId} --workspace clinic --expires 1h`,
  )
    .option(
      '--expires <time>',
      'when the previous secret stops signing: a time from now, at most 7d, or 0s (default: "1d")',
      // `--overlap` of 0.1.0 was a number of seconds.
      (text: string) => parseDuration(/^\d+$/.test(text) ? `${text}s` : text),
    )
    .option('--json', 'print the webhook and its secret as JSON')
    .action(rotateSecret);

  command(
    'ping <webhook-id>',
    'Send a test message to check that messages arrive.',
    `ping ${exampleId} --workspace clinic`,
  ).action(async (id: string, { workspace }: Scope) => {
    const messageId = await withWebhooks(workspace, (manager, caller) => manager.ping(caller, id));
    writeLine(`The ping will be sent as message ${messageId}.`);
  });

  command(
    'retry <webhook-id>',
    'Immediately retry all messages that are waiting for a retry.',
    `retry ${exampleId} --workspace clinic`,
  ).action(async (id: string, { workspace }: Scope) => {
    await withWebhooks(workspace, (manager, caller) => manager.retry(caller, id));
    writeLine(`What waits for webhook ${id} is tried now.`);
  });

  command(
    'replay <webhook-id>',
    'Send messages again: give exactly one of --after, --since, --message and --failed.',
    `replay ${exampleId} --workspace clinic --failed`,
    `replay ${exampleId} --workspace clinic --since 2026-03-14T12:00:00Z`,
  )
    .option('--after <position>', 'all events after this position; 0: all events')
    .option('--since <time>', 'all events recorded at or after this ISO 8601 time')
    .option('--message <id>', 'a single message, by its webhook-id')
    .option('--failed', 'all messages that were given up after the last attempt')
    .action(replay);

  command(
    'attempts <webhook-id>',
    'List the delivery attempts of the last 30 days, newest first.',
    `attempts ${exampleId} --workspace clinic --limit 20`,
    `attempts ${exampleId} --workspace clinic --kind patient --record patient-1 --outcome failed`,
  )
    .option('--limit <n>', 'how many attempts to list', parseNumber, 100)
    .addOption(new Option('--outcome <outcome>', 'only attempts with this outcome').choices(attemptOutcomes))
    .addOption(new Option('--kind <kind>', 'only attempts for records of this kind').choices(subjectKinds))
    .option('--record <id>', 'only attempts for this record; for documents, the id of the encounter')
    .option('--json', 'print a JSON array')
    .action(attempts);
}
