import { type Command, InvalidArgumentError } from 'commander';
import { ServiceError } from '../../platform/errors.ts';
import { terminal } from '../../server/terminal.ts';
import { serviceAddress, withKeys } from '../../server/withStores.ts';
import { count, example, writeLine } from '../lib/output.ts';
import { DemoSender } from './DemoSender.ts';
import { demoRequests } from './demoRequests.ts';

interface DemoOptions {
  workspace: string;
  seed: number;
  url?: string;
}

const DAY_MS = 86_400_000;
/** Of the made-up webhook: a domain reserved for addresses that lead nowhere (RFC 2606). */
const WEBHOOK_URL = 'https://billing.example.com/webhooks/chartledger';
const REQUESTS_PER_MINUTE = 1_000_000;

function parseSeed(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Specify a whole number of at most 9 digits.');
}

/** `chartledger demo` */
export function addDemoCommand(program: Command): void {
  program
    .command('demo')
    .description(
      'Fill a sandbox with made-up records: 200 patients with encounters, documents, changes and a ' +
        'webhook, and some requests that are refused. Creates the sandbox if it does not exist. The ' +
        'service must be running.',
    )
    .option('--workspace <id>', 'the sandbox', 'sandbox')
    .option(
      '--seed <number>',
      'the seed of the made-up records: the same number creates the same records',
      parseSeed,
      1,
    )
    .option('--url <url>', 'the address of the service (default: from the settings)')
    .addHelpText('after', example('chartledger demo', 'chartledger demo --seed 7 --workspace training'))
    .action(demo);
}

async function demo({ workspace, seed, url = serviceAddress() }: DemoOptions): Promise<void> {
  const { key, id, expires_at } = await makeKey(workspace);
  const sender = new DemoSender(url.replace(/\/$/, ''), key);
  for (const group of demoRequests(seed)) {
    await sender.sendGroup(group);
    const { records, documents } = sender.counts;
    terminal().stderr.write(`Sent: ${count(records)} records, ${count(documents)} documents.\n`);
  }
  if (!(await sender.hasWebhook(WEBHOOK_URL))) await sender.createWebhook(WEBHOOK_URL);
  const { records, documents, refused } = sender.counts;
  writeLine(
    `The sandbox ${workspace} has made-up records of seed ${seed}: ${count(records)} versions of records, ${count(documents)} ` +
      `documents, a webhook that is disabled. Refused, as they should be: ${count(refused)} requests.`,
  );
  writeLine();
  writeLine('A key to look at them with, shown only now:');
  writeLine();
  writeLine(`  ${key}`);
  writeLine();
  writeLine(`Its id is ${id}. It ends at ${expires_at}.`);
}

/** Creates a key of the sandbox for one day, which is not subject to the limit of this machine's address. */
function makeKey(workspace: string) {
  return withKeys(async ({ known, manager }) => {
    const found = known.workspaces.get(workspace);
    if (found === undefined) await manager.createWorkspace(workspace, { sandbox: true });
    else if (!found.sandbox) {
      throw new ServiceError(
        'conflict',
        `Workspace ${workspace} is not a sandbox. Made-up records do not belong there.`,
      );
    }
    const limits = {
      expires_at: new Date(Date.now() + DAY_MS).toISOString(),
      rate_limit: REQUESTS_PER_MINUTE,
    };
    return manager.createKey(workspace, 'Demo', ['write', 'read', 'webhooks'], {}, limits);
  });
}
