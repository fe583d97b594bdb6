import { lookup } from 'node:dns/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { type CloudEvent, feedEventTypes } from '../../modules/eventStream/cloudEvents.ts';
import { parsePosition } from '../../modules/eventStream/position.ts';
import { isSecret, messageOfCloudEvent } from '../../modules/webhooks/messages.ts';
import { generateSecret } from '../../modules/webhooks/secrets.ts';
import { WebhookSender } from '../../modules/webhooks/sender.ts';
import { type WebhookPayload, webhookPayloads } from '../../modules/webhooks/webhook.ts';
import { terminal } from '../../server/terminal.ts';
import { addServiceOptions, type ServiceClient, type ServiceOptions, serviceClient } from '../lib/client.ts';
import { endWithReader, example, printable, untilInterrupted, writePaced } from '../lib/terminal.ts';
import { EventFollower, type Forwarded, Forwarder } from './eventFollower.ts';

/** Which service to ask for which events. */
interface StreamOptions extends ServiceOptions {
  /** A place in the stream: `now`, `start`, or a position. */
  after: string;
  types?: string;
}

function parsePlace(text: string): string {
  if (text === 'now' || text === 'start' || parsePosition(text) !== undefined) return text;
  throw new InvalidArgumentError(
    'Specify now, start, or the position of an event, such as 0000000000008135.',
  );
}

const known = feedEventTypes.map(({ type }) => type);

function parseTypes(text: string): string {
  const types = text.split(',').map((type) => type.trim());
  if (types.every((type) => known.includes(type))) return types.join();
  throw new InvalidArgumentError(`Specify one or more of ${known.join(', ')}, separated by commas.`);
}

/** Adds the options of commands that follow the event stream. */
function addStreamOptions(command: Command): Command {
  return addServiceOptions(command, 'events')
    .option(
      '--after <place>',
      'only events after this position; start: from the first event ever; now: only new events',
      parsePlace,
      'now',
    )
    .option(
      '--types <list>',
      'only events of these types, such as chartledger.patient.upserted.v1',
      parseTypes,
    );
}

const shownSchema = z.object({
  time: z.string(),
  type: z.string(),
  subject: z.string(),
  data: z.object({ version: z.number() }),
});

interface TailOptions extends StreamOptions {
  json?: boolean;
}

/** Formats an event for display. */
function eventLine(position: string, json: string): string {
  const { time, type, subject, data } = shownSchema.parse(JSON.parse(json));
  return printable([time, type, subject, `version ${data.version}`, position].join('  '));
}

async function tail({ json = false, ...options }: TailOptions, command: Command): Promise<void> {
  endWithReader();
  await untilInterrupted(async (signal) => {
    const client = await serviceClient(command, options, signal);
    const follower = new EventFollower(client, { after: options.after, types: options.types });
    for await (const event of follower.events(signal)) {
      await writePaced(`${json ? event.json : eventLine(event.position, event.json)}\n`);
    }
  });
}

/** `chartledger events …` */
export function addEventsCommands(events: Command): void {
  addStreamOptions(
    events
      .command('tail')
      .description(
        'Print each event as it is recorded: its time, type, subject, version and position. Reconnects ' +
          'automatically if the connection is lost. Press Ctrl-C to stop.',
      ),
  )
    .option('--json', 'print complete events, one per line of JSON (a CloudEvent)')
    .addHelpText(
      'after',
      example(
        'export CHARTLEDGER_API_KEY=clk_…',
        'chartledger events tail',
        'chartledger events tail --after start --types chartledger.patient.upserted.v1 --json',
      ),
    )
    .action(tail);
}

interface ListenOptions extends StreamOptions {
  forwardTo: string;
  payload: WebhookPayload;
}

/** The environment variable for a custom secret. */
const SECRET_VARIABLE = 'CHARTLEDGER_WEBHOOK_SECRET';
/** Stands for the webhook in the ids of messages, so that an event has the same id whenever it is forwarded. */
const LISTENER = { id: 'listen' };

function parseTarget(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.hash) return url.href;
  throw new InvalidArgumentError('Specify an address such as http://localhost:4000/hooks.');
}

/**
 * Returns the secret in the environment, otherwise a new one. Ends the command when the variable is not a valid secret; it is not
 * shown.
 */
function secretOf(command: Command): { secret: string; isNew: boolean } {
  const given = terminal().env[SECRET_VARIABLE]?.trim();
  if (!given) return { secret: generateSecret(), isNew: true };
  if (isSecret(given)) return { secret: given, isNew: false };
  return command.error(
    `error: ${SECRET_VARIABLE} is not a valid secret: whsec_ followed by 24 to 64 bytes in base64`,
  );
}

/** Describes the result of an event, without any record data. */
function forwardedLine({ type, id, sequence }: CloudEvent, { attempt, tries }: Forwarded): string {
  const { status, error, durationMs } = attempt;
  const result = error === undefined ? String(status) : [error, status].filter(Boolean).join(' ');
  const after = tries === 1 ? '' : ` after ${tries} tries`;
  return printable([type, id, sequence, `${result}${after}`, `${durationMs} ms`].join('  '));
}

/** Any address named by the user, as found by the machine's own resolver. */
const targetSender = () =>
  new WebhookSender({
    addresses: { allows: () => true, opensNetworks: true },
    resolve: async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
  });

async function forwardAll(
  client: ServiceClient,
  { forwardTo, payload, after, types }: ListenOptions,
  secret: string,
  signal: AbortSignal,
): Promise<void> {
  const view = payload === 'reference' ? 'full' : payload;
  const follower = new EventFollower(client, { after, types, view });
  let position = await follower.position();
  terminal().stderr.write(`Forwarding events after ${position} to ${forwardTo}\n`);
  const onAway = (error: string) =>
    terminal().stderr.write(`${forwardTo} takes nothing (${error}); trying again for five minutes.\n`);
  const sender = targetSender();
  const forwarder = new Forwarder({ url: forwardTo, secret, sender, signal, onAway });
  try {
    for await (const { position: at, json } of follower.events(signal)) {
      const event: CloudEvent = JSON.parse(json);
      const result = await forwarder.forward(messageOfCloudEvent({ ...LISTENER, payload }, event));
      position = at;
      await writePaced(`${forwardedLine(event, result)}\n`);
    }
  } finally {
    await sender.close();
    terminal().stderr.write(`To go on where this ended: --after ${position}\n`);
  }
}

async function listen(options: ListenOptions, command: Command): Promise<void> {
  endWithReader();
  const { secret, isNew } = secretOf(command);
  await untilInterrupted(async (signal) => {
    const client = await serviceClient(command, options, signal);
    terminal().stderr.write(
      isNew ? `Signing secret: ${secret}\n` : `Signing with the secret in ${SECRET_VARIABLE}\n`,
    );
    await forwardAll(client, options, secret, signal);
  });
}

/** `chartledger listen` */
export function addListenCommand(program: Command): void {
  addStreamOptions(
    program
      .command('listen')
      .description(
        'Forward events to an address, sent and signed like webhook messages: for a receiver on a ' +
          `developer’s machine, without creating a webhook. The secret is read from ${SECRET_VARIABLE}; ` +
          'if it is not set, a new one is created and shown. Prints a line for each event. An event that ' +
          'is not accepted in three attempts is skipped; if the target is unreachable, the command waits ' +
          'for it for up to five minutes. Press Ctrl-C to stop.',
      )
      .requiredOption('--forward-to <url>', 'the address to send events to', parseTarget),
  )
    .addOption(
      new Option('--payload <payload>', 'what messages contain, as for webhooks')
        .choices(webhookPayloads)
        .default('reference'),
    )
    .addHelpText(
      'after',
      example(
        'export CHARTLEDGER_API_KEY=clk_…',
        'chartledger listen --forward-to http://localhost:4000/hooks',
        'chartledger listen --forward-to http://localhost:4000/hooks --after start --payload full',
      ),
    )
    .action(listen);
}
