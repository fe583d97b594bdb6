import { readFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { type Command, Option } from 'commander';
import { messageAccesses } from '../../modules/audit/accesses.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import type { Message } from '../../modules/integrations/messages/message.ts';
import { MessageStore, type ProcessedMessage } from '../../modules/integrations/messages/store.ts';
import { type RecordLineage, readLineage } from '../../modules/integrations/replay/lineage.ts';
import { isBefore } from '../../modules/integrations/replay/resend.ts';
import {
  correctWaiting,
  putMessageAside,
  resendWaiting,
  type SkippedMessage,
} from '../../modules/integrations/replay/waiting.ts';
import { notFound } from '../../platform/errors.ts';
import { terminal } from '../../server/terminal.ts';
import { withErasure } from '../../server/withErasure.ts';
import { type IngestTools, withIngest } from '../../server/withIngest.ts';
import { ofFile } from '../lib/files.ts';
import { parsePositive } from '../lib/options.ts';
import { example, FAILED, printable, writeJson, writeLine, writeTable } from '../lib/terminal.ts';

/** Prints the result of a message, by record, and what is wrong in it. */
function writeOutcome({ about, problems }: Pick<ProcessedMessage, 'about' | 'problems'>): void {
  for (const { kind, id, outcome = 'under way', version } of about) {
    writeLine(`${outcome}: ${kind} ${printable(id)}${version === undefined ? '' : `, version ${version}`}`);
  }
  for (const { severity, code, at, text } of problems) writeLine(`${severity} ${code} ${at}: ${text}`);
}

interface CorrectOptions {
  workspace: string;
  file: string;
  dryRun?: boolean;
  force?: boolean;
  json?: boolean;
}

/** `chartledger messages correct` */
function addCorrectCommand(messages: Command): void {
  messages
    .command('correct')
    .description(
      'Process a corrected version of a message that was not fully accepted, in its place in the order. ' +
        'The original message is kept unchanged; the correction is kept as a separate message. This is ' +
        'recorded in the audit trail.',
    )
    .argument('<id>', 'the id of the message, as listed')
    .requiredOption('--workspace <id>', 'the workspace')
    .requiredOption(
      '--file <file>',
      'the complete corrected message, for example the output of `messages show --raw` with the errors fixed',
    )
    .option('--dry-run', 'show what the outcome would be, without storing anything')
    .option(
      '--force',
      'also overwrite values newer than the message, and process messages that may still be in progress',
    )
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      example(
        'chartledger messages correct 019cec3f-5f5b-7000-8000-000000000001 --file corrected.hl7 --workspace clinic',
      ),
    )
    .action(correct);
}

async function correct(id: string, options: CorrectOptions): Promise<void> {
  const { workspace: workspaceId, file, dryRun: isTrial = false, force = false, json } = options;
  const sent = await ofFile(file, () => readFile(file));
  const corrected = await withIngest(workspaceId, ({ ports, caller, workspace }) =>
    correctWaiting(ports, caller, workspace, id, sent, { force, isTrial }),
  );
  if (json) writeJson({ ...corrected, id: corrected.id ?? null, corrects: id });
  else {
    const name = corrected.id === undefined ? 'It would be' : `${corrected.id}:`;
    writeLine(`${name} ${corrected.state}`);
    writeOutcome(corrected);
  }
  if (corrected.state !== 'accepted') terminal().exitCode = FAILED;
}

interface ResendOptions {
  workspace: string;
  source?: string;
  force?: boolean;
  json?: boolean;
}

/** The result of a message that was to be resent. */
type Resent = Pick<Message, 'id' | 'received_at' | 'source'> & (ProcessedMessage | SkippedMessage);

/** `chartledger messages resend` */
function addResendCommand(messages: Command): void {
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
      const { ports, caller } = tools;
      const became = await resendWaiting(ports, caller, tools.workspace, message, options);
      const resent = { id, received_at, source, ...became };
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

function writeResent(resent: Resent): void {
  const { id, state } = resent;
  if ('skipped' in resent) writeLine(`${id}: skipped. ${resent.skipped}`);
  else {
    writeLine(`${id}: ${state}`);
    writeOutcome(resent);
  }
}

/** Shows where the fields of a message's records come from. The values are shown, as with `--raw`. */
async function showFields(id: string, workspaceId: string): Promise<void> {
  const lineage = await withIngest(workspaceId, async ({ ports, caller, workspace }) => {
    const message = await ports.messages.load(workspaceId, id);
    if (message === undefined) throw notFound('Message');
    const found = await readLineage(ports, workspace, message);
    await recordAccess(ports.eventLog, caller, ...messageAccesses(message, true));
    return found;
  });
  if (lineage.length === 0) writeLine('Read again, it says nothing of any record.');
  for (const one of lineage) writeRecord(one);
}

function writeRecord({ kind, id, fields }: RecordLineage): void {
  writeLine(`${kind} ${printable(id)}`);
  for (const { field, value, at, rule, setting } of fields) {
    const said = value === undefined ? '' : ` = ${printable(JSON.stringify(value))}`;
    const by = [rule && `rule ${rule}`, setting && `setting ${setting}`].filter(Boolean).join(', ');
    writeLine(`  ${field}${said}  from ${at === null ? 'no place' : printable(at)}${by && ` (${by})`}`);
  }
}

interface ListOptions {
  workspace: string;
  rejected?: boolean;
  limit: number;
  json?: boolean;
}

const DEFAULT_LIMIT = 50;

/** `chartledger messages …` */
export function addMessageCommands(messages: Command): void {
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
    .addOption(new Option('--json', 'print the outcome as JSON').conflicts(['raw', 'fields']))
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
  messages
    .command('put-aside')
    .description(
      'Leave a message that was not fully accepted as it is: it is no longer listed as waiting. It is kept until it expires, and can ' +
        'still be resent or corrected. This is recorded in the audit trail.',
    )
    .argument('<id>', 'the id of the message, as listed')
    .requiredOption('--workspace <id>', 'the workspace')
    .requiredOption('--reason <text>', 'the reason, which is kept; do not identify a person')
    .addHelpText(
      'after',
      example(
        "chartledger messages put-aside 019cec3f-5f5b-7000-8000-000000000001 --workspace clinic --reason 'Sent by mistake'",
      ),
    )
    .action((id: string, { workspace, reason }: { workspace: string; reason: string }) =>
      withIngest(workspace, async ({ ports, caller }) => {
        await putMessageAside(ports, caller, id, reason);
        writeLine(`Message ${id} is put aside.`);
      }),
    );
}

async function listMessages({ workspace, rejected = false, limit, json }: ListOptions): Promise<void> {
  const found = await withErasure(workspace, async (ports, caller) => {
    const query = { limit: String(limit), rejected: String(rejected) };
    await recordAccess(ports.eventLog, caller, { action: 'message.list', query });
    const page = await new MessageStore(ports).list(workspace, { limit, rejected, pageToken: undefined });
    return page.items;
  });
  if (json) writeJson(found.map(viewOf));
  else if (found.length === 0) writeLine(`Workspace ${workspace} has no such messages.`);
  else
    writeTable(
      ['MESSAGE', 'RECEIVED', 'SOURCE', 'EVENT', 'CONTROL ID', 'STATE', 'RECORDS', 'PROBLEMS'],
      found.map(({ id, received_at, source, event = '', control_id = '', state, records, problems }) => [
        ...[id, received_at, source, event, control_id, state].map((text) => printable(text)),
        ...[String(records), String(problems.length)],
      ]),
    );
}

/** Returns a message's form in JSON. Digests are of no use to anyone. */
const viewOf = ({ control: _, ...view }: Message) => view;

interface ShowOptions {
  workspace: string;
  raw?: boolean;
  fields?: boolean;
  json?: boolean;
}

function showMessage(id: string, { workspace, raw, fields, json }: ShowOptions): Promise<void> {
  if (fields) return showFields(id, workspace);
  return withErasure(workspace, async (ports, caller) => {
    const store = new MessageStore(ports);
    const message = await store.load(workspace, id);
    if (message === undefined) throw notFound('Message');
    await recordAccess(ports.eventLog, caller, ...messageAccesses(message, raw));
    if (raw) await pipeline(await store.bytes(message), terminal().stdout, { end: false });
    else if (json) writeJson(viewOf(message));
    else writeMessage(message);
  });
}

function writeMessage({ about, problems, request, put_aside, control: _, ...told }: Message): void {
  for (const [name, value] of Object.entries(told)) {
    writeLine(
      `${name.padEnd(12)}  ${typeof value === 'object' ? `${value.type} ${value.id}` : printable(String(value))}`,
    );
  }
  if (put_aside)
    writeLine(
      `put aside     ${put_aside.at}, by ${put_aside.by.type} ${put_aside.by.id}: ${printable(put_aside.reason)}`,
    );
  for (const [name, value] of Object.entries(request ?? {}))
    writeLine(`asked for ${name}: ${printable(String(value))}`);
  writeOutcome({ about, problems });
}
