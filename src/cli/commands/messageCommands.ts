import { pipeline } from 'node:stream/promises';
import { type Command, Option } from 'commander';
import { messageAccesses } from '../../modules/audit/messageAccesses.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { MessageStore } from '../../modules/integrations/messages/MessageStore.ts';
import type { Message } from '../../modules/integrations/messages/message.ts';
import { notFound } from '../../platform/errors.ts';
import { terminal } from '../../server/terminal.ts';
import { withErasure } from '../../server/withErasure.ts';
import { example, printable, writeJson, writeLine, writeTable } from '../lib/output.ts';
import { parsePositive } from '../lib/parsePositive.ts';
import { addCorrectCommand } from './correctCommand.ts';
import { addResendCommand } from './resendCommand.ts';
import { showFields } from './showFields.ts';
import { writeOutcome } from './writeOutcome.ts';

interface ListOptions {
  workspace: string;
  rejected?: boolean;
  limit: number;
  json?: boolean;
}

const DEFAULT_LIMIT = 50;

/** `chartledger messages …` */
export function addMessageCommands(program: Command): void {
  const messages = program
    .command('messages')
    .description('The FHIR and HL7 v2 messages that EMRs sent, in their original form, and their outcomes.');

  messages
    .command('list')
    .description('List the messages of a workspace, newest first.')
    .requiredOption('--workspace <id>', 'the workspace')
    .option('--rejected', 'only messages that were not fully accepted')
    .addOption(
      new Option('--limit <n>', 'at most this many messages').argParser(parsePositive).default(DEFAULT_LIMIT),
    )
    .option('--json', 'print a JSON array')
    .addHelpText('after', example('chartledger messages list --workspace clinic --rejected'))
    .action(listMessages);

  messages
    .command('show')
    .description(
      'Show the outcome of a message, or the original message. This is recorded in the audit trail.',
    )
    .argument('<id>', 'the id of the message, as in the list and in the history of a record')
    .requiredOption('--workspace <id>', 'the workspace')
    .addOption(new Option('--raw', 'write only its original bytes').conflicts('fields'))
    .option('--fields', 'show where in the message each field of its records comes from, and by which rule')
    .addHelpText(
      'after',
      example(
        'chartledger messages show 019cec3f-5f5b-7000-8000-000000000001 --workspace clinic --raw',
        'chartledger messages show 019cec3f-5f5b-7000-8000-000000000001 --workspace clinic --fields',
      ),
    )
    .action(showMessage);

  addResendCommand(messages);
  addCorrectCommand(messages);
}

async function listMessages({ workspace, rejected = false, limit, json }: ListOptions): Promise<void> {
  const found = await withErasure(workspace, async (ports, caller) => {
    const query = { limit: String(limit), rejected: String(rejected) };
    await recordAccess(ports.eventLog, caller, { action: 'message.list', query });
    const page = await new MessageStore(ports).list(workspace, { limit, rejected, pageToken: undefined });
    return page.items;
  });
  // Digests are of no use to anyone.
  if (json) writeJson(found.map(({ control: _, ...told }) => told));
  else if (found.length === 0) writeLine(`Workspace ${workspace} has no such messages.`);
  else
    writeTable(
      ['MESSAGE', 'RECEIVED', 'SOURCE', 'FORMAT', 'STATE', 'RECORDS', 'PROBLEMS'],
      found.map(({ id, received_at, source, format, state, records, problems }) => [
        ...[id, received_at, source, format, state],
        ...[String(records), String(problems.length)],
      ]),
    );
}

interface ShowOptions {
  workspace: string;
  raw?: boolean;
  fields?: boolean;
}

function showMessage(id: string, { workspace, raw, fields }: ShowOptions): Promise<void> {
  if (fields) return showFields(id, workspace);
  return withErasure(workspace, async (ports, caller) => {
    const store = new MessageStore(ports);
    const message = await store.load(workspace, id);
    if (message === undefined) throw notFound('Message');
    await recordAccess(ports.eventLog, caller, ...messageAccesses(message, raw));
    if (raw) await pipeline(await store.bytes(message), terminal().stdout, { end: false });
    else writeMessage(message);
  });
}

function writeMessage({ about, problems, request, control: _, ...told }: Message): void {
  for (const [name, value] of Object.entries(told)) {
    writeLine(
      `${name.padEnd(12)}  ${typeof value === 'object' ? `${value.type} ${value.id}` : printable(String(value))}`,
    );
  }
  for (const [name, value] of Object.entries(request ?? {}))
    writeLine(`asked for ${name}: ${printable(String(value))}`);
  writeOutcome({ about, problems });
}
