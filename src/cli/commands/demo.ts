import { type Command, InvalidArgumentError } from 'commander';
import { ServiceError, unavailable } from '../../platform/errors.ts';
import { serviceAddress, withKeys } from '../../server/stores.ts';
import { terminal } from '../../server/terminal.ts';
import { count, example, writeLine } from '../lib/terminal.ts';
import { type DemoRequest, demoRequests } from './demoData.ts';

const AT_ONCE = 8;
const TIMEOUT_MS = 60_000;

/** Counts of what was sent. */
interface DemoCounts {
  records: number;
  documents: number;
  refused: number;
}

/** Sends requests to a running service. An unexpected response rejects with `conflict`. */
export class DemoSender {
  readonly #url: string;
  readonly #key: string;
  readonly counts: DemoCounts = { records: 0, documents: 0, refused: 0 };

  constructor(url: string, key: string) {
    this.#url = url;
    this.#key = key;
  }

  /** Sends all requests of a group, several at once: they concern different records. */
  async sendGroup(requests: readonly DemoRequest[]): Promise<void> {
    const left = requests.values();
    const work = async () => {
      for (const request of left) await this.#send(request);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }

  /** Creates a webhook that sends nothing yet: nobody listens at its address. */
  async createWebhook(url: string): Promise<void> {
    const description = 'Made-up receiver: enable it with an address of your own';
    const made = await this.#fetch('POST', '/integration/webhooks', jsonBody({ url, description }));
    const { id } = (await made.json()) as { id: string };
    await this.#fetch('PATCH', `/integration/webhooks/${id}`, jsonBody({ state: 'disabled' }));
  }

  /** Whether the workspace has a webhook for an address. */
  async hasWebhook(url: string): Promise<boolean> {
    const listed = (await (await this.#fetch('GET', '/integration/webhooks')).json()) as {
      items: { url: string }[];
    };
    return listed.items.some((webhook) => webhook.url === url);
  }

  async #send(request: DemoRequest): Promise<void> {
    if (request.send === 'document') {
      const { encounterId, documentId, category, pdf } = request;
      const body = new FormData();
      body.set('document_id', documentId);
      body.set('category', category);
      body.set('file', new Blob([pdf], { type: 'application/pdf' }), `${category}.pdf`);
      await this.#fetch('POST', `/integration/encounters/${encounterId}/documents`, { body });
      this.counts.documents += 1;
      return;
    }
    const { plural, record, refused } = request;
    await this.#fetch('POST', `/integration/${plural}`, jsonBody(record), refused ? 400 : 200);
    this.counts[refused ? 'refused' : 'records'] += 1;
  }

  async #fetch(method: string, path: string, init: RequestInit = {}, expected = 200): Promise<Response> {
    let answer: Response;
    try {
      const headers = { 'x-api-key': this.#key, 'user-agent': 'chartledger-demo', ...init.headers };
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      answer = await fetch(this.#url + path, { ...init, method, headers, signal });
    } catch (error) {
      throw unavailable(
        'service',
        error,
        `No service responds at ${this.#url}. Start it, or specify its address with --url.`,
      );
    }
    if (answer.status === expected) return answer;
    const { error } = (await answer.json().catch(() => ({}))) as { error?: string };
    throw new ServiceError(
      'conflict',
      `The service at ${this.#url} answered ${answer.status}: ${error ?? 'no reason'}`,
    );
  }
}

function jsonBody(body: unknown): RequestInit {
  return { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
}

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
    .option(
      '--url <url>',
      'the address of the service (default: CHARTLEDGER_URL, otherwise from the settings)',
    )
    .addHelpText('after', example('chartledger demo', 'chartledger demo --seed 7 --workspace training'))
    .action(demo);
}

async function demo({ workspace, seed, ...options }: DemoOptions): Promise<void> {
  const url = options.url ?? terminal().env.CHARTLEDGER_URL ?? serviceAddress();
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
