import type { Command } from 'commander';
import { listConsumers, removeConsumer } from '../../modules/webhooks/consumerList.ts';
import { eventLogName, withWebhooks } from '../../server/stores.ts';
import { example, writeJson, writeLine, writeTable } from '../lib/terminal.ts';

interface Scope {
  workspace: string;
  json?: boolean;
}

async function list({ workspace, json }: Scope): Promise<void> {
  const found = await withWebhooks(workspace, (webhooks, caller, ports) =>
    listConsumers({ webhooks, ...ports }, caller),
  );
  if (json) return writeJson(found);
  if (found.length === 0) return writeLine(`Nobody gets the events of ${workspace} in ${eventLogName()}.`);
  writeTable(
    ['TYPE', 'NAME', 'CONTENTS', 'PENDING', 'OLDEST', 'LAST CONTACT', 'RESUMES', 'KEY'],
    found.map(({ type, name, contents, pending, ...one }) => [
      ...[
        type,
        name,
        contents,
        `${pending}${one.pending_is_exact ? '' : '+'}`,
        one.oldest_pending_at ?? '-',
        one.last_contact_at ?? '-',
      ],
      ...[one.resumes ? 'yes' : 'no', one.key_id ?? '-'],
    ]),
  );
}

/** `chartledger consumers …` */
export function addConsumerCommands(consumers: Command): void {
  consumers
    .command('list')
    .description(
      'List who gets the events of a workspace, and how far behind: readers of the event stream and sinks that name themselves, and ' +
        'webhooks. What a reader did in the last minute may be missing.',
    )
    .requiredOption('--workspace <id>', 'the workspace')
    .option('--json', 'print a JSON array')
    .addHelpText('after', example('chartledger consumers list --workspace clinic'))
    .action(list);
  consumers
    .command('remove <name>')
    .description('Remove a reader or sink that no longer reads, and the position that is kept for it.')
    .requiredOption('--workspace <id>', 'the workspace')
    .addHelpText('after', example('chartledger consumers remove warehouse --workspace clinic'))
    .action(async (name: string, { workspace }: Scope) => {
      await withWebhooks(workspace, (_webhooks, caller, ports) => removeConsumer(ports, caller, name));
      writeLine(`The consumer ${name} was removed.`);
    });
}
