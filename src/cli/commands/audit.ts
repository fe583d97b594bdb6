import { type Command, Option } from 'commander';
import type { AuditEntry } from '../../../projections/auditAggregation.ts';
import type { Principal } from '../../domain/events/event.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { auditFilter, auditQuery, limitsOf, wholeAuditTrail } from '../../modules/audit/trail.ts';
import { auditHeader, auditLine, outcomeOf, queryText } from '../../modules/integrity/export.ts';
import type { PrincipalNames } from '../../modules/records/queries/principalNames.ts';
import {
  type WorkspaceTools,
  withCurrentModels,
  withInstallation,
  withWorkspace,
} from '../../server/stores.ts';
import { addFormatOptions, parseMoment, parsePositive } from '../lib/options.ts';
import { addOutOptions, type OutOptions, requireOut, writeReport } from '../lib/reportFile.ts';
import { example, fittingLine, print, printable } from '../lib/terminal.ts';

/** How an audit trail is printed: the text at its beginning, for each entry, newest first, and at its end. */
interface AuditFormat {
  begin: string;
  entry(entry: AuditEntry, nameOf: (principal: Principal) => string | undefined, isFirst: boolean): string;
  end: string;
}

const WHO_WIDTH = 24;
const ACTION_WIDTH = 20;

function columns(time: string, who: string, action: string, outcome: string, ...others: string[]): string {
  const name = printable(who, WHO_WIDTH).padEnd(WHO_WIDTH);
  const cells = [time.padEnd(24), name, action.padEnd(ACTION_WIDTH), outcome.padEnd(8), ...others];
  return fittingLine(cells.join('  '));
}

/** Returns what an entry is about, and what was requested: `patient patient-1001`, `document encounter-4001/document-5001`. */
function subjectOf({ kind, id, documentId, version, query = {} }: AuditEntry): string {
  const name = [id, documentId].filter((part) => part !== undefined).join('/');
  const ofVersion = version === undefined ? '' : `version ${version}`;
  return [kind, name, ofVersion, queryText(query)].filter(Boolean).join(' ') || '-';
}

const table: AuditFormat = {
  begin: columns('TIME', 'WHO', 'ACTION', 'OUTCOME', 'FROM', 'ON'),
  entry(entry, nameOf) {
    const { recordedAt, principal, action, type, clientIp } = entry;
    const who = nameOf(principal) ?? principal.id;
    return columns(
      recordedAt,
      who,
      action ?? type,
      outcomeOf(entry),
      clientIp ?? principal.type,
      subjectOf(entry),
    );
  },
  end: '',
};

const csv: AuditFormat = {
  begin: auditHeader('csv'),
  entry: (entry, nameOf) => auditLine(entry, 'csv', nameOf),
  end: '',
};

const json: AuditFormat = {
  begin: '[',
  entry: (entry, nameOf, isFirst) =>
    `${isFirst ? '' : ','}\n  ${auditLine(entry, 'ndjson', nameOf).trimEnd()}`,
  end: '\n]\n',
};

/** The formats by name. */
const auditFormats = { table, json, csv };

interface AuditOptions extends OutOptions {
  workspace?: string;
  installation?: boolean;
  since?: string;
  until?: string;
  principal?: string;
  action?: string;
  kind?: string;
  id?: string;
  outcome?: string;
  seen?: boolean;
  limit?: number;
  json?: boolean;
  format: keyof typeof auditFormats;
}

async function showTrail({ eventLog, names, caller }: WorkspaceTools, options: AuditOptions): Promise<void> {
  const {
    workspace: _,
    installation: __,
    json: ___,
    since: from,
    until: to,
    seen,
    limit,
    format,
    out,
    force: ____,
    ...sent
  } = options;
  const asked = auditQuery({ ...sent, from, to, ...(seen && { seen: 'all' }) });
  const limits = { ...limitsOf(asked), ...(limit !== undefined && { limit }) };
  await withCurrentModels(eventLog, async (readModels) => {
    const ports = { eventLog, readModels };
    const filter = await auditFilter(ports, caller.workspace, asked);
    const parts = await wholeAuditTrail(ports, caller.workspace, filter);
    const isRead = format === 'table';
    const query = isRead ? limits : { ...limits, format };
    await recordAccess(eventLog, caller, { action: isRead ? 'audit.read' : 'audit.export', query });
    const texts = textOf(parts, names, format, limit ?? Number.POSITIVE_INFINITY);
    if (out === undefined) return print(texts);
    const { workspace } = caller;
    await writeReport(ports, { workspace, report: 'audit', query }, out, texts);
  });
}

async function* textOf(
  parts: AsyncIterable<AuditEntry[]>,
  names: PrincipalNames,
  name: keyof typeof auditFormats,
  limit: number,
): AsyncGenerator<string> {
  const format = auditFormats[name];
  yield format.begin;
  let printed = 0;
  for await (const part of parts) {
    const entries = part.slice(0, limit - printed);
    await names.learn(entries.map(({ principal }) => principal));
    for (const entry of entries) {
      yield format.entry(entry, (principal) => names.nameOf(principal), printed === 0);
      printed += 1;
    }
    if (printed >= limit) break;
  }
  yield format.end;
}

async function audit(options: AuditOptions, command: Command): Promise<void> {
  const { workspace, installation } = options;
  if ((workspace === undefined) === (installation === undefined)) {
    command.error('error: specify either --workspace <id> or --installation');
  }
  await requireOut(options, command);
  const work = (tools: WorkspaceTools) => showTrail(tools, options);
  await (workspace === undefined ? withInstallation(work) : withWorkspace(workspace, work));
}

/** `chartledger audit …` */
export function addAuditCommands(trail: Command): void {
  const command = trail
    .command('list', { isDefault: true })
    .description(
      'Show the audit trail, newest first: who changed, read or was denied what. The trail also records ' +
        'that it was read, and by whom.',
    )
    .option('--workspace <id>', 'the trail of this workspace')
    .option('--installation', 'sign-ins and users, which belong to no workspace')
    .option('--since <time>', 'recorded at or after this ISO 8601 date or date-time', parseMoment)
    .option('--until <time>', 'recorded before this ISO 8601 date or date-time', parseMoment)
    .option('--principal <id>', 'only actions of the key or user with this id')
    .option('--action <action>', 'only this action, such as record.read or PatientUpserted')
    .option('--kind <kind>', 'only entries about this kind')
    .option('--id <id>', 'only entries about the record with this id')
    .addOption(
      new Option('--outcome <outcome>', 'only entries with this outcome').choices(['accepted', 'refused']),
    )
    .option(
      '--seen',
      'who has seen the record given by --kind and --id, including in lists, streams and webhooks; for a ' +
        'patient, also who has seen its encounters and their documents',
    )
    .option('--limit <n>', 'only the newest n entries (default: all)', parsePositive);
  addFormatOptions(
    addOutOptions(command),
    Object.keys(auditFormats),
    'table, cut to the width of the terminal; json, one array; csv, one line per entry',
    'table',
  )
    .addHelpText(
      'after',
      example(
        'chartledger audit list --workspace clinic --since 2026-03-14 --outcome refused',
        'chartledger audit list --workspace clinic --kind patient --id patient-1001 --seen --format csv --out seen.csv',
        'chartledger audit list --installation --limit 50',
      ),
    )
    .action(audit);
}
