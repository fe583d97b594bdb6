import { type Command, Option } from 'commander';
import type { AuditEntry } from '../../../projections/auditEntry.ts';
import { auditFilter, auditQuery, limitsOf } from '../../modules/audit/auditQuery.ts';
import { wholeAuditTrail } from '../../modules/audit/readAuditTrail.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import type { PrincipalNames } from '../../modules/records/queries/PrincipalNames.ts';
import {
  type WorkspaceTools,
  withCurrentModels,
  withInstallation,
  withWorkspace,
} from '../../server/withStores.ts';
import { example, print } from '../lib/output.ts';
import { parseMoment } from '../lib/parseMoment.ts';
import { parsePositive } from '../lib/parsePositive.ts';
import { auditFormats } from './auditFormats.ts';

interface AuditOptions {
  workspace?: string;
  installation?: boolean;
  from?: string;
  to?: string;
  principal?: string;
  action?: string;
  kind?: string;
  id?: string;
  outcome?: string;
  seen?: boolean;
  limit?: number;
  format: keyof typeof auditFormats;
}

async function showTrail({ eventLog, names, caller }: WorkspaceTools, options: AuditOptions): Promise<void> {
  const { workspace: _, installation: __, seen, limit, format, ...sent } = options;
  const query = auditQuery({ ...sent, ...(seen && { seen: 'all' }) });
  const limits = { ...limitsOf(query), ...(limit !== undefined && { limit }) };
  await withCurrentModels(eventLog, async (readModels) => {
    const ports = { eventLog, readModels };
    const filter = await auditFilter(ports, caller.workspace, query);
    const parts = await wholeAuditTrail(ports, caller.workspace, filter);
    const access = format === 'table' ? { query: limits } : { query: { ...limits, format } };
    await recordAccess(eventLog, caller, {
      action: format === 'table' ? 'audit.read' : 'audit.export',
      ...access,
    });
    await print(textOf(parts, names, format, limit ?? Number.POSITIVE_INFINITY));
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
  const work = (tools: WorkspaceTools) => showTrail(tools, options);
  await (workspace === undefined ? withInstallation(work) : withWorkspace(workspace, work));
}

/** `chartledger audit` */
export function addAuditCommand(program: Command): void {
  program
    .command('audit')
    .description(
      'Show the audit trail, newest first: who changed, read or was denied what. The trail also records ' +
        'that it was read, and by whom.',
    )
    .option('--workspace <id>', 'the trail of this workspace')
    .option('--installation', 'sign-ins and users, which belong to no workspace')
    .option('--from <time>', 'recorded at or after this ISO 8601 date or date-time', parseMoment)
    .option('--to <time>', 'recorded before this ISO 8601 date or date-time', parseMoment)
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
    .option('--limit <n>', 'only the newest n entries (default: all)', parsePositive)
    .addOption(
      new Option(
        '--format <format>',
        'table, cut to the width of the terminal; json, one array; csv, one line per entry',
      )
        .choices(Object.keys(auditFormats))
        .default('table'),
    )
    .addHelpText(
      'after',
      example(
        'chartledger audit --workspace clinic --from 2026-03-14 --outcome refused',
        'chartledger audit --workspace clinic --kind patient --id patient-1001 --seen --format csv > seen.csv',
        'chartledger audit --installation --limit 50',
      ),
    )
    .action(audit);
}
