import { type Command, Option } from 'commander';
import { z } from 'zod';
import { catalogEntry } from '../../domain/records/catalog.ts';
import { dottedFields } from '../../domain/records/fold.ts';
import { type CatalogEntry, recordName } from '../../domain/records/schema/kind.ts';
import { scopeKinds } from '../../modules/auth/permissions.ts';
import { terminal } from '../../server/terminal.ts';
import { addServiceOptions, type ServiceClient, type ServiceOptions, serviceClient } from '../lib/client.ts';
import { kindArgument, parseMoment, parsePositive } from '../lib/options.ts';
import {
  example,
  FAILED,
  fail,
  fittingLine,
  print,
  printable,
  untilInterrupted,
  writeJson,
} from '../lib/terminal.ts';

interface SearchOptions extends ServiceOptions {
  kind?: string;
  limit: number;
  json?: boolean;
}

/** The most that the service returns at a time. */
const SEARCH_PAGE = 100;
const SHOWN = 20;
const KIND_WIDTH = 9;
const ID_WIDTH = 36;
const NAME_WIDTH = 28;

const foundSchema = z.looseObject({
  kind: z.string(),
  id: z.string(),
  title: z.string(),
  details: z.record(z.string(), z.string()),
  removed: z.literal(true).optional(),
});
const searchPageSchema = z.object({ items: z.array(foundSchema), next_page_token: z.string().nullable() });

type Found = z.infer<typeof foundSchema>;

async function search(words: string[], options: SearchOptions, command: Command): Promise<void> {
  const { kind, limit, json, ...service } = options;
  await untilInterrupted(async (signal) => {
    const client = await serviceClient(command, service, signal);
    const found = await foundBy(client, { q: words.join(' '), ...(kind !== undefined && { kind }) }, limit);
    if (json) writeJson(found);
    else await print([row('KIND', 'ID', 'NAME', 'DETAILS'), ...found.map(foundRow)]);
  });
}

/** Returns what is found, up to the number wanted. */
async function foundBy(client: ServiceClient, asked: object, limit: number): Promise<Found[]> {
  const found: Found[] = [];
  for (let token: string | null | undefined; token !== null && found.length < limit; ) {
    const body = {
      ...asked,
      limit: Math.min(limit - found.length, SEARCH_PAGE),
      ...(token !== undefined && { page_token: token }),
    };
    const page: z.infer<typeof searchPageSchema> = await client.getJson(
      searchPageSchema,
      '/integration/search',
      {
        body,
      },
    );
    found.push(...page.items);
    token = page.next_page_token;
  }
  return found;
}

function foundRow({ kind, id, title, details, removed }: Found): string {
  const told = Object.entries(details).map(([name, value]) => `${name} ${value}`);
  return row(kind, id, title, [...(removed ? ['removed'] : []), ...told].join(', '));
}

function row(kind: string, id: string, name: string, details: string): string {
  const cells = [kind.padEnd(KIND_WIDTH), fitted(id, ID_WIDTH), fitted(name, NAME_WIDTH), details];
  return fittingLine(cells.join('  '));
}

/** An id is never cut: it is there to be copied. */
function fitted(text: string, width: number): string {
  return printable(text).padEnd(width);
}

/** `chartledger records search` */
function addSearchCommand(records: Command): void {
  addServiceOptions(
    records
      .command('search')
      .description(
        'Find records and documents by names, dates of birth, ids and numbers. The search is recorded in ' +
          'the audit trail, without the words.',
      )
      .argument('<words...>', 'words that must all match, in any order; each may be the beginning of a word'),
    'read',
  )
    .addOption(new Option('--kind <kind>', 'only this kind').choices([...scopeKinds]))
    .option('--limit <n>', 'only the first n results', parsePositive, SHOWN)
    .option('--json', 'print a JSON array')
    .addHelpText(
      'after',
      example(
        'export CHARTLEDGER_API_KEY=clk_…',
        'chartledger records search lopez 1984-02-29 --kind patient',
      ),
    )
    .action(search);
}

interface GetOptions extends ServiceOptions {
  version?: number;
  asOf?: string;
  json?: boolean;
}

interface ListOptions extends ServiceOptions {
  limit?: number;
  asOf?: string;
  json?: boolean;
}

/** Number of records requested at a time. */
const RECORDS_PAGE = 500;

const viewSchema = z.looseObject({
  version: z.number(),
  created_at: z.string(),
  updated_at: z.string(),
  record: z.looseObject({ id: z.string() }),
});
const recordsPageSchema = z.object({
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
  const { limit = Number.POSITIVE_INFINITY, asOf, json, ...service } = options;
  const entry = catalogEntry(kind);
  await untilInterrupted(async (signal) => {
    const pages = pagesOf(await serviceClient(command, service, signal), entry, limit, asOf);
    await print(json ? jsonOf(pages) : tableOf(pages, entry));
  });
}

async function* pagesOf(
  client: ServiceClient,
  { plural }: CatalogEntry,
  limit: number,
  as_of: string | undefined,
) {
  let token: string | undefined;
  for (let left = limit; left > 0; ) {
    const query = { limit: Math.min(left, RECORDS_PAGE), page_token: token, as_of };
    const page = await client.getJson(recordsPageSchema, `/integration/${plural}`, { query });
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

/** `chartledger records …` */
export function addRecordsCommands(records: Command): void {
  addServiceOptions(
    records
      .command('get')
      .description(
        'Show the current or an earlier version of a record. The read is recorded in the audit trail.',
      )
      .addArgument(kindArgument('<kind>'))
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
      .addArgument(kindArgument('<kind>')),
    'read',
  )
    .option('--limit <n>', 'only the first n records (default: all)', parsePositive)
    .option(
      '--as-of <time>',
      'list them as of this time: an ISO 8601 date or date-time; what has been erased since is omitted',
      parseMoment,
    )
    .option('--json', 'print a JSON array')
    .addHelpText(
      'after',
      example(
        'export CHARTLEDGER_API_KEY=clk_…',
        'chartledger records list payer --limit 100',
        'chartledger records list patient --as-of 2026-03-01 --json > patients.json',
      ),
    )
    .action(list);
  addSearchCommand(records);
}
