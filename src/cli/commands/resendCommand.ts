import type { Command } from 'commander';
import { v7 as uuidv7 } from 'uuid';
import { messageAccesses } from '../../modules/audit/messageAccesses.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { numberOf, readConfigurations } from '../../modules/integrations/configurations.ts';
import type { ProcessedMessage } from '../../modules/integrations/messages/MessageStore.ts';
import type { Message } from '../../modules/integrations/messages/message.ts';
import { isBefore } from '../../modules/integrations/replay/guardNewer.ts';
import { presentSource } from '../../modules/integrations/replay/presentSource.ts';
import { resendMessage } from '../../modules/integrations/replay/resendMessage.ts';
import { notFound } from '../../platform/errors.ts';
import { terminal } from '../../server/terminal.ts';
import { type IngestTools, withIngest } from '../../server/withIngest.ts';
import { example, FAILED, writeJson, writeLine } from '../lib/output.ts';
import { mayBeUnderWay } from './mayBeUnderWay.ts';
import { writeOutcome } from './writeOutcome.ts';

interface ResendOptions {
  workspace: string;
  source?: string;
  force?: boolean;
  json?: boolean;
}

/** The result of a message that was to be resent. */
type Resent = Pick<Message, 'id' | 'received_at' | 'source'> &
  (ProcessedMessage | { state: Message['state']; skipped: string });

/** `chartledger messages resend` */
export function addResendCommand(messages: Command): void {
  messages
    .command('resend')
    .description(
      'Process messages that were not fully accepted again, oldest first, using the current configuration ' +
        'of their source. Values that changed after a message arrived are not overwritten. Each message ' +
        'is recorded in the audit trail.',
    )
    .argument('[ids...]', 'the ids of the messages; default: all that were not fully accepted')
    .requiredOption('--workspace <id>', 'the workspace')
    .option('--source <id>', 'only messages of this source')
    .option(
      '--force',
      'also overwrite values newer than the message, and process messages that may still be in progress',
    )
    .option('--json', 'print a JSON array')
    .addHelpText(
      'after',
      example(
        'chartledger messages resend --workspace clinic --source epic',
        'chartledger messages resend 019cec3f-5f5b-7000-8000-000000000001 --workspace clinic',
      ),
    )
    .action(resend);
}

async function resend(ids: string[], options: ResendOptions): Promise<void> {
  const { workspace, json } = options;
  const all: Resent[] = [];
  await withIngest(workspace, async (tools) => {
    for (const message of await waiting(tools, ids, options)) {
      const { id, received_at, source } = message;
      const resent = { id, received_at, source, ...(await resendOne(tools, message, options)) };
      all.push(resent);
      if (!json) writeResent(resent);
    }
  });
  if (json) writeJson(all);
  else if (all.length === 0) writeLine(`No message of workspace ${workspace} waits to be sent again.`);
  if (all.some(({ state }) => state !== 'accepted')) terminal().exitCode = FAILED;
}

/** Returns the requested messages, in order of arrival. Rejects with `not_found`. */
async function waiting(
  { ports: { messages }, workspace }: IngestTools,
  ids: string[],
  { source }: ResendOptions,
): Promise<Message[]> {
  const found =
    ids.length === 0
      ? await Array.fromAsync(messages.rejected(workspace.id))
      : await Promise.all([...new Set(ids)].map((id) => loaded(messages.load(workspace.id, id))));
  return found
    .filter((one) => source === undefined || one.source === source)
    .toSorted((one, other) => (isBefore(one, other) ? -1 : 1));
}

async function loaded(loading: Promise<Message | undefined>): Promise<Message> {
  const message = await loading;
  if (message === undefined) throw notFound('Message');
  return message;
}

async function resendOne(
  { ports, caller, workspace }: IngestTools,
  listed: Message,
  { force = false }: ResendOptions,
): Promise<ProcessedMessage | Pick<Extract<Resent, { skipped: string }>, 'state' | 'skipped'>> {
  // As it is now: its turn may come long after the list was read.
  const message = await ports.messages.load(workspace.id, listed.id);
  if (message === undefined) return { state: listed.state, skipped: 'It no longer exists.' };
  const { state } = message;
  const configurations = await readConfigurations(ports.eventLog, workspace.id);
  const source = presentSource(configurations.at(-1)?.sources ?? [], message, ports.directory.known);
  if (state === 'accepted') return { state, skipped: 'It was fully accepted.' };
  if (message.corrected_by !== undefined)
    return { state, skipped: `It was corrected by ${message.corrected_by}.` };
  if (!force && mayBeUnderWay(message)) {
    return { state, skipped: 'It arrived within the last ten minutes and may still be in progress.' };
  }
  if (source === undefined) return { state, skipped: 'Its source is no longer configured.' };
  // Each as a request of its own.
  const own = { ...caller, requestId: uuidv7() };
  await recordAccess(ports.eventLog, own, ...messageAccesses(message));
  const configuration = numberOf(configurations, source.id);
  const isSandbox = workspace.sandbox === true;
  return resendMessage(ports, own, message, { source, configuration, isSandbox, force });
}

function writeResent(resent: Resent): void {
  const { id, state } = resent;
  if ('skipped' in resent) writeLine(`${id}: skipped. ${resent.skipped}`);
  else {
    writeLine(`${id}: ${state}`);
    writeOutcome(resent);
  }
}
