import { type Command, Option } from 'commander';
import { z } from 'zod';
import { scopeKinds } from '../../modules/auth/permissions.ts';
import { example, fittingLine, print, printable, writeJson } from '../lib/output.ts';
import { parsePositive } from '../lib/parsePositive.ts';
import type { ServiceClient } from '../lib/ServiceClient.ts';
import { addServiceOptions, type ServiceOptions, serviceClient } from '../lib/serviceOptions.ts';
import { untilInterrupted } from '../lib/untilInterrupted.ts';

interface SearchOptions extends ServiceOptions {
  kind?: string;
  limit: number;
  json?: boolean;
}

/** The most that the service returns at a time. */
const PAGE = 100;
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
const pageSchema = z.object({ items: z.array(foundSchema), next_page_token: z.string().nullable() });

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
      limit: Math.min(limit - found.length, PAGE),
      ...(token !== undefined && { page_token: token }),
    };
    const page: z.infer<typeof pageSchema> = await client.getJson(pageSchema, '/integration/search', {
      body,
    });
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
export function addSearchCommand(records: Command): void {
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
