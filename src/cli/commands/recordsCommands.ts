import { Argument, type Command, Option } from 'commander';
import { z } from 'zod';
import { type CatalogEntry, catalog, catalogEntry } from '../../domain/records/catalog.ts';
import { dottedFields } from '../../domain/records/diff.ts';
import { recordName } from '../../domain/records/schema/recordName.ts';
import { terminal } from '../../server/terminal.ts';
import { example, FAILED, fail, fittingLine, print, printable, writeJson } from '../lib/output.ts';
import { parseMoment } from '../lib/parseMoment.ts';
import { parsePositive } from '../lib/parsePositive.ts';
import type { ServiceClient } from '../lib/ServiceClient.ts';
import { addServiceOptions, type ServiceOptions, serviceClient } from '../lib/serviceOptions.ts';
import { untilInterrupted } from '../lib/untilInterrupted.ts';
import { addSearchCommand } from './searchCommand.ts';

interface GetOptions extends ServiceOptions {
  version?: number;
  asOf?: string;
  json?: boolean;
}

interface ListOptions extends ServiceOptions {
  limit?: number;
  json?: boolean;
}

/** Number of records requested at a time. */
const PAGE = 500;
const ID_WIDTH = 36;
const NAME_WIDTH = 28;

const viewSchema = z.looseObject({
  version: z.number(),
  created_at: z.string(),
  updated_at: z.string(),
  record: z.looseObject({ id: z.string() }),
});
const pageSchema = z.object({
  items: z.array(viewSchema),
  next_page_token: z.string().nullable(),
  unreadable: z.array(z.string()).default([]),
});

type RecordView = z.infer<typeof viewSchema>;

async function get(kind: string, id: string, options: GetOptions, command: Command): Promise<void> {
  const { version, asOf, json, ...service } = options;
  const path = `/integration/${catalogEntry(kind).plural}/${encodeURIComponent(id)}`;
  await untilInterrupted(async (signal) => {
    const client = await serviceClient(command, service, signal);
    const view = await client.getJson(viewSchema, path, { query: { version, as_of: asOf } });
    if (json) writeJson(view);
    else await print([fieldLines(view)]);
  });
}

function fieldLines({ version, created_at, updated_at, record }: RecordView): string {
  const fields = [...Object.entries({ version, created_at, updated_at }), ...dottedFields(record)];
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields
    .map(([name, value]) => fittingLine(`${name.padEnd(width)}  ${JSON.stringify(value)}`))
    .join('');
}

async function list(kind: string, options: ListOptions, command: Command): Promise<void> {
  const { limit = Number.POSITIVE_INFINITY, json, ...service } = options;
  const entry = catalogEntry(kind);
  await untilInterrupted(async (signal) => {
    const pages = pagesOf(await serviceClient(command, service, signal), entry, limit);
    await print(json ? jsonOf(pages) : tableOf(pages, entry));
  });
}

async function* pagesOf(client: ServiceClient, { plural }: CatalogEntry, limit: number) {
  let token: string | undefined;
  for (let left = limit; left > 0; ) {
    const query = { limit: Math.min(left, PAGE), page_token: token };
    const page = await client.getJson(pageSchema, `/integration/${plural}`, { query });
    yield page;
    left -= page.items.length;
    if (page.next_page_token === null) return;
    token = page.next_page_token;
  }
}

type Pages = ReturnType<typeof pagesOf>;

async function* jsonOf(pages: Pages): AsyncGenerator<string> {
  let before = '[';
  for await (const { items, unreadable } of pages) {
    for (const view of items) {
      yield `${before}\n  ${JSON.stringify(view)}`;
      before = ',';
    }
    for (const id of unreadable) fail(`${printable(id)} cannot be read and is left out.`);
  }
  yield before === '[' ? '[]\n' : '\n]\n';
}

async function* tableOf(pages: Pages, { listedBy }: CatalogEntry): AsyncGenerator<string> {
  const row = (id: string, name: string, ...cells: string[]) =>
    fittingLine([fitted(id, ID_WIDTH), fitted(name, NAME_WIDTH), ...cells].join('  '));
  yield row('ID', listedBy?.replaceAll('_', ' ').toUpperCase() ?? 'NAME', 'VERSION', 'LAST CHANGE');
  for await (const { items, unreadable } of pages) {
    for (const { version, updated_at, record } of items) {
      const name = listedBy === undefined ? recordName(record) : record[listedBy];
      yield row(record.id, String(name ?? ''), String(version).padEnd(7), updated_at);
    }
    for (const id of unreadable) {
      yield row(id, 'cannot be read', '-');
      terminal().exitCode = FAILED;
    }
  }
}

/** An id is never cut: it is there to be copied. */
function fitted(text: string, width: number): string {
  return printable(text).padEnd(width);
}

const kindArgument = () =>
  new Argument('<kind>', 'kind of the records').choices(catalog.map(({ kind }) => kind));

/** `chartledger records …` */
export function addRecordsCommands(program: Command): void {
  const records = program
    .command('records')
    .description('Read the records of a workspace from a running service.');
  addServiceOptions(
    records
      .command('get')
      .description(
        'Show the current or an earlier version of a record. The read is recorded in the audit trail.',
      )
      .addArgument(kindArgument())
      .argument('<id>', 'the id that the record was sent with'),
    'read',
  )
    .option('--version <n>', 'show this version: 1, 2, 3 …', parsePositive)
    .addOption(
      new Option('--as-of <time>', 'show it as of this time: an ISO 8601 date or date-time')
        .argParser(parseMoment)
        .conflicts('version'),
    )
    .option('--json', "print the service's response")
    .addHelpText(
      'after',
      example('export CHARTLEDGER_API_KEY=clk_…', 'chartledger records get patient patient-1001'),
    )
    .action(get);
  addServiceOptions(
    records
      .command('list')
      .description(
        'List the records of a kind, in the order of their creation. Each page is recorded in the audit ' +
          'trail.',
      )
      .addArgument(kindArgument()),
    'read',
  )
    .option('--limit <n>', 'only the first n records (default: all)', parsePositive)
    .option('--json', 'print a JSON array')
    .addHelpText(
      'after',
      example('export CHARTLEDGER_API_KEY=clk_…', 'chartledger records list payer --limit 100'),
    )
    .action(list);
  addSearchCommand(records);
}
