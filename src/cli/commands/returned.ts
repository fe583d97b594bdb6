import type { Command } from 'commander';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { type ReturnedRecord, returnedRecords } from '../../modules/erasure/returned.ts';
import { csvLine } from '../../platform/csv.ts';
import { withWorkspace } from '../../server/stores.ts';
import { addFormatOptions } from '../lib/options.ts';
import { example, print, printable, writeJson, writeTable } from '../lib/terminal.ts';

const formats = ['table', 'json', 'csv'] as const;

interface ReturnedOptions {
  workspace: string;
  format: (typeof formats)[number];
}

type Named = ReturnedRecord & { principal_name: string | null };

const header = ['kind', 'id', 'erased_at', 'returned_at', 'version', 'principal_id', 'principal_name'];

function cellsOf(one: Named): string[] {
  const { kind, id, erased_at, returned_at, version, principal, principal_name } = one;
  return [kind, id, erased_at, returned_at, String(version), principal.id, principal_name ?? ''];
}

async function list({ workspace, format }: ReturnedOptions): Promise<void> {
  const rows = await withWorkspace(workspace, async ({ eventLog, names, caller }) => {
    const found = await Array.fromAsync(returnedRecords(eventLog, workspace));
    const query = { returned: true };
    await recordAccess(eventLog, caller, { action: 'record.list', query });
    await names.learn(found.map(({ principal }) => principal));
    return found.map((one): Named => ({ ...one, principal_name: names.nameOf(one.principal) ?? null }));
  });
  if (format === 'json') return writeJson(rows);
  if (format === 'csv') return print([csvLine(header), ...rows.map((one) => csvLine(cellsOf(one)))]);
  writeTable(
    header.map((name) => name.replace('_', ' ').toUpperCase()),
    rows.map((one) => cellsOf(one).map((cell) => printable(cell))),
  );
}

/** `chartledger records returned` */
export function addReturnedCommand(records: Command): void {
  const command = records
    .command('returned')
    .description(
      'List the records that were sent again after their erasure: when, and by which key. The audit trail records who asked.',
    )
    .requiredOption('--workspace <id>', 'the workspace of the records');
  addFormatOptions(command, formats, 'the output format', 'table')
    .addHelpText(
      'after',
      example('chartledger records returned --workspace clinic --format csv > returned.csv'),
    )
    .action(list);
}
