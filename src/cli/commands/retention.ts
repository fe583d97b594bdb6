import { type Command, InvalidArgumentError } from 'commander';
import type { Caller } from '../../domain/events/newEvent.ts';
import { recordAccess, recordFurtherAccess } from '../../modules/audit/recordAccess.ts';
import {
  type RetentionChoice,
  type RetentionPolicy,
  retentionPolicy,
  retentionText,
  type Workspace,
} from '../../modules/auth/apiKeys.ts';
import type { ErasurePorts } from '../../modules/erasure/finish.ts';
import {
  type ExpiredRecord,
  eraseExpired,
  expiryOf,
  findExpired,
  type RetentionTally,
} from '../../modules/erasure/retention.ts';
import { csvLine } from '../../platform/csv.ts';
import { ServiceError } from '../../platform/errors.ts';
import { retentionSetting, withKeys } from '../../server/stores.ts';
import { terminal } from '../../server/terminal.ts';
import { withErasure } from '../../server/withErasure.ts';
import { addFormatOptions, parsePositive } from '../lib/options.ts';
import { count, endWithReader, example, writeJson, writeLine, writePaced } from '../lib/terminal.ts';
import {
  addScavengeOptions,
  checkScavengeOptions,
  finishBytes,
  type ScavengeOptions,
} from './erasedBytes.ts';

const retentionFormats = ['table', 'json', 'csv'] as const;
type RetentionFormat = (typeof retentionFormats)[number];

/** The number of records listed, by state, and of encounters that go with those due for erasure. */
type ListedCounts = Record<ExpiredRecord['state'], number> & { encounters: number };

/** Lines of a listing that is written as results arrive. */
interface Listing {
  /** Before the first record. */
  begin(policy: string): string;
  record(record: ExpiredRecord, isFirst: boolean): string;
  end(counts: ListedCounts): string;
}

const columns = ['KIND', 'STATE', 'LAST CHANGE', 'LAST ENCOUNTER', 'ENCOUNTERS', 'ID'];
const widths = [12, 12, 12, 15, 11, 0];

const stateTexts: Record<ExpiredRecord['state'], string> = {
  due: 'due',
  held: 'held',
  referred_to: 'referred to',
};

const line = (cells: string[]) => cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('');

/** Returns a record's form in JSON and CSV. */
function viewOf({ kind, id, state, changedAt, serviceAt, encounters }: ExpiredRecord) {
  return { kind, id, state, last_change: changedAt, last_encounter: serviceAt ?? null, encounters };
}

const listings: Record<RetentionFormat, Listing> = {
  table: {
    begin: (policy) => `${policy}\n\n${line(columns)}\n`,
    record: ({ kind, id, state, changedAt, serviceAt, encounters }) => {
      const cells = [changedAt.slice(0, 10), serviceAt?.slice(0, 10) ?? '-', count(encounters)];
      return `${line([kind, stateTexts[state], ...cells, id])}\n`;
    },
    end: ({ due, held, referred_to, encounters }) =>
      `\nDue: ${count(due)}. Encounters that go with patients: ${count(encounters)}. Under legal hold: ${count(held)}. ` +
      `Still referred to: ${count(referred_to)}.\n`,
  },
  json: {
    begin: () => '[',
    record: (record, isFirst) => `${isFirst ? '' : ','}\n  ${JSON.stringify(viewOf(record))}`,
    end: () => '\n]\n',
  },
  csv: {
    begin: () => csvLine(['kind', 'id', 'state', 'last_change', 'last_encounter', 'encounters']),
    record: (record) => csvLine(Object.values(viewOf(record)).map((value) => String(value ?? ''))),
    end: () => '',
  },
};

interface ListOptions {
  workspace: string;
  format: RetentionFormat;
}

interface ApplyOptions extends ScavengeOptions {
  workspace: string;
  format: RetentionFormat;
  limit?: number;
}

/** `chartledger retention …` */
export function addRetentionCommands(retention: Command): void {
  const listing = retention
    .command('list', { isDefault: true })
    .description(
      'List the records that are past the retention period of a workspace. The service must be running.',
    )
    .requiredOption('--workspace <id>', 'the workspace');
  addFormatOptions(listing, retentionFormats, 'the output format', 'table')
    .addHelpText('after', example('chartledger retention list --workspace clinic --format csv > due.csv'))
    .action(({ workspace: id, format }: ListOptions) =>
      withErasure(id, (ports, caller, workspace) => list(ports, caller, policyOf(workspace), format)),
    );

  retention
    .command('set')
    .description('Set how long the records of a workspace are kept.')
    .argument(
      '<years>',
      'a number of years, off to keep everything, or default for the value of RETENTION_YEARS',
      parseRetention,
    )
    .requiredOption('--workspace <id>', 'the workspace')
    .addHelpText('after', example('chartledger retention set 10 --workspace clinic'))
    .action((choice: RetentionChoice, { workspace }: { workspace: string }) =>
      withKeys(async ({ manager }) => {
        await manager.setRetention(workspace, choice);
        writeLine(`Retention of workspace ${workspace}: ${retentionText(choice, retentionSetting())}.`);
      }),
    );

  const applying = retention
    .command('apply')
    .description(
      'Permanently erase what is past the retention period, patients with their encounters. Records under legal hold or still ' +
        'referred to are kept. The service must be running. If interrupted, run the command again to resume.',
    )
    .requiredOption('--workspace <id>', 'the workspace')
    .option('--limit <n>', 'erase at most this many records; a patient counts as one', parsePositive);
  addFormatOptions(applying, ['table', 'json'], 'the output format', 'table');
  addScavengeOptions(applying)
    .addHelpText('after', example('chartledger retention apply --workspace clinic'))
    .action((options: ApplyOptions, command: Command) => {
      checkScavengeOptions(options, command);
      return withErasure(options.workspace, (ports, caller, workspace) =>
        apply(ports, caller, policyOf(workspace), options),
      );
    });
}

/** `7`, `off`, `default`. */
function parseRetention(text: string): RetentionChoice {
  if (text === 'off' || text === 'default') return text;
  const [, years] = /^(\d{1,9})(?:y|years?)?$/.exec(text) ?? [];
  if (years !== undefined) return Number(years);
  throw new InvalidArgumentError('Specify a number of years, off, or default.');
}

function policyOf({ id, retention = 'default' }: Workspace): RetentionPolicy {
  const policy = retentionPolicy(retention, retentionSetting(), Date.now());
  if (policy) return policy;
  throw new ServiceError(
    'conflict',
    `Workspace ${id} keeps everything. Set its retention with: chartledger retention set YEARS --workspace ${id}, or for all ` +
      'workspaces with RETENTION_YEARS.',
  );
}

async function list(
  ports: ErasurePorts,
  caller: Caller,
  { years, before }: RetentionPolicy,
  format: RetentionFormat,
): Promise<void> {
  endWithReader();
  const { eventLog } = ports;
  const access = { action: 'retention.list', query: { years, before } } as const;
  await recordAccess(eventLog, caller, access);
  const listing = listings[format];
  const counts: ListedCounts = { due: 0, held: 0, referred_to: 0, encounters: 0 };
  let isFirst = true;
  await writePaced(
    listing.begin(
      `Retention of ${years} years: what nobody changed, and what has no encounter dated, since ${before.slice(0, 10)}.`,
    ),
  );
  for await (const records of findExpired(ports, caller.workspace, before)) {
    await recordFurtherAccess(eventLog, caller, { ...access, ...shownOf(records) });
    for (const record of records) {
      await writePaced(listing.record(record, isFirst));
      isFirst = false;
      counts[record.state] += 1;
      if (record.state === 'due') counts.encounters += record.encounters;
    }
  }
  await writePaced(listing.end(counts));
}

/** Returns which records are shown, all of one kind, for the audit trail. */
function shownOf(records: readonly ExpiredRecord[]) {
  const ranges = records.map(({ position }) => ({ from: position, to: position }));
  return { kind: records[0]?.kind ?? '', shown: { ranges, count: records.length } };
}

async function apply(
  ports: ErasurePorts,
  caller: Caller,
  policy: RetentionPolicy,
  { format, limit = Number.POSITIVE_INFINITY, ...options }: ApplyOptions,
): Promise<void> {
  const { years, before } = policy;
  const query = { years, before, ...(Number.isFinite(limit) && { limit }) };
  await recordAccess(ports.eventLog, caller, { action: 'retention.apply', query });
  const report = (line: string) => terminal().stderr.write(`${line}\n`);
  const onBatch = (tally: RetentionTally) => report(tallyLine(tally));
  const { position, ...tally } = await eraseExpired(ports, caller, expiryOf(policy), { limit, onBatch });
  if (format === 'json') writeJson(tally);
  else writeLine(tallyLine(tally));
  if (position !== undefined)
    await finishBytes(ports, position, options, format === 'json' ? report : writeLine);
}

function tallyLine({ erased, encounters, held, referred_to, changed, unreadable }: RetentionTally): string {
  const more = unreadable > 0 ? ` Not to be read by this version: ${count(unreadable)}.` : '';
  return (
    `Erased: ${count(erased)}. Encounters that went with patients: ${count(encounters)}. Under legal hold: ${count(held)}. ` +
    `Still referred to: ${count(referred_to)}. Of use again: ${count(changed)}.${more}`
  );
}
