import type { Command } from 'commander';
import { judgeRow, type ReportRow, reportLines, reportOf } from '../../modules/audit/accessReport.ts';
import { setVip } from '../../modules/audit/accessReview.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import type { PrincipalNames } from '../../modules/records/queries/principalNames.ts';
import { withCurrentModels, withWorkspace } from '../../server/stores.ts';
import { addFormatOptions } from '../lib/options.ts';
import { addOutOptions, type OutOptions, requireOut, writeReport } from '../lib/reportFile.ts';
import { example, print, writeLine, writeTable } from '../lib/terminal.ts';

interface MonthOptions {
  workspace: string;
  month: string;
}

interface ReportOptions extends OutOptions, MonthOptions {
  format: 'table' | 'json' | 'csv';
}

async function report(options: ReportOptions, command: Command): Promise<void> {
  const { workspace, month, format, out } = options;
  await requireOut(options, command);
  await withWorkspace(workspace, ({ eventLog, directory, names, caller }) =>
    withCurrentModels(eventLog, async (readModels) => {
      const ports = { eventLog, readModels, directory, names };
      const found = await reportOf(ports, workspace, month);
      const query = { month, format };
      await recordAccess(eventLog, caller, { action: 'audit.report', query });
      if (format === 'table') return writeRows(found, names);
      const texts = reportLines(found, names, format === 'csv' ? 'csv' : 'ndjson');
      if (out === undefined) return print(texts);
      await writeReport(ports, { workspace, report: 'access', query }, out, texts);
    }),
  );
}

async function writeRows(
  { rows, review, timeZone }: Awaited<ReturnType<typeof reportOf>>,
  names: PrincipalNames,
): Promise<void> {
  const cells = ({ id, reason, day, principal, record_id, count, usual, stated }: ReportRow) => {
    const { note } = review.judgments.get(id) ?? {};
    const detail = stated ?? (usual === undefined ? '-' : `usually ${usual}`);
    return [
      day,
      reason,
      names.nameOf(principal) ?? principal.id,
      record_id ?? '-',
      `${count}`,
      detail,
      note ?? '-',
      id,
    ];
  };
  const all: string[][] = [];
  for await (const some of rows) all.push(...some.map(cells));
  if (all.length === 0) return writeLine('No access was out of the ordinary.');
  writeTable([`DAY (${timeZone})`, 'REASON', 'WHO', 'RECORD', 'COUNT', 'DETAIL', 'JUDGED', 'ROW'], all);
}

async function judge(id: string, { workspace, month, note }: MonthOptions & { note: string }): Promise<void> {
  await withWorkspace(workspace, ({ eventLog, directory, names, caller }) =>
    withCurrentModels(eventLog, async (readModels) => {
      await judgeRow({ eventLog, readModels, directory, names }, caller, { id, month }, note);
      writeLine(`The judgment of row ${id} is recorded.`);
    }),
  );
}

async function vip(
  id: string,
  { workspace, remove }: { workspace: string; remove?: boolean },
): Promise<void> {
  await withWorkspace(workspace, ({ eventLog, caller }) =>
    withCurrentModels(eventLog, async (readModels) => {
      await setVip({ eventLog, readModels }, caller, id, !remove);
      writeLine(remove ? `Patient ${id} is no longer marked as VIP.` : `Patient ${id} is marked as VIP.`);
    }),
  );
}

/** `chartledger audit report`, `judge` and `vip`. */
export function addAccessReportCommands(trail: Command): void {
  const command = trail
    .command('report')
    .description(
      'List access out of the ordinary in a month, to be judged: to VIPs and to patients with the family name of the user, more ' +
        'records than usual, outside office hours, and with a reason in place of the right.',
    )
    .requiredOption('--workspace <id>', 'the workspace')
    .requiredOption('--month <month>', 'the month, in the time zone of the workspace, such as 2026-03');
  addFormatOptions(
    addOutOptions(command),
    ['table', 'json', 'csv'],
    'table; json, one row per line; csv',
    'table',
  )
    .addHelpText(
      'after',
      example(
        'chartledger audit report --workspace clinic --month 2026-03',
        'chartledger audit report --workspace clinic --month 2026-03 --format csv --out access.csv',
      ),
    )
    .action(report);
  trail
    .command('judge')
    .description('Record what was concluded about a row of the report.')
    .argument('<row>', 'the id of the row, as listed')
    .requiredOption('--workspace <id>', 'the workspace')
    .requiredOption('--month <month>', 'the month of the report')
    .requiredOption('--note <text>', 'the conclusion, which is kept; do not identify the patient')
    .addHelpText(
      'after',
      example(
        "chartledger audit judge 6a0d6c1e-5a53-5b0a-8d3f-3f6d0f6e1c52 --workspace clinic --month 2026-03 --note 'In order'",
      ),
    )
    .action(judge);
  trail
    .command('vip')
    .description('Mark a patient as VIP: access to the records of the patient is in the report.')
    .argument('<patient-id>', 'the id that the patient was sent with')
    .requiredOption('--workspace <id>', 'the workspace of the patient')
    .option('--remove', 'take the mark away')
    .addHelpText('after', example('chartledger audit vip patient-1001 --workspace clinic'))
    .action(vip);
}
