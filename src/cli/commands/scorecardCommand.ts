import { type Command, Option } from 'commander';
import { validate } from '../../domain/records/schema/validate.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { makeScorecard } from '../../modules/readiness/makeScorecard.ts';
import { type Scorecard, scorecardColumns, scorecardLine } from '../../modules/readiness/scorecard.ts';
import { serviceDaysSchema } from '../../modules/readiness/serviceDays.ts';
import type { PrincipalNames } from '../../modules/records/queries/PrincipalNames.ts';
import { csvLine } from '../../platform/csv.ts';
import { withCurrentModels, withWorkspace } from '../../server/withStores.ts';
import {
  count,
  counted,
  example,
  printable,
  writeJson,
  writeLine,
  writePaced,
  writeTable,
} from '../lib/output.ts';
import { untilInterrupted } from '../lib/untilInterrupted.ts';
import { withProgressBar } from '../lib/withProgressBar.ts';

interface ScorecardOptions {
  workspace: string;
  from?: string;
  to?: string;
  format: keyof typeof writers;
}

/** `chartledger readiness scorecard` */
export function addScorecardCommand(readiness: Command): void {
  readiness
    .command('scorecard')
    .description(
      'For each key and field, report how many defects were sent, how long they took to be fixed, and how ' +
        'many encounters they delayed, based on the full history of the encounters.',
    )
    .requiredOption('--workspace <id>', 'the workspace')
    .option('--from <day>', 'only encounters with a day of service on or after this day: 2026-03-14')
    .option('--to <day>', 'only encounters with a day of service on or before this day')
    .addOption(
      new Option('--format <format>', 'the output format').choices(Object.keys(writers)).default('table'),
    )
    .addHelpText(
      'after',
      example('chartledger readiness scorecard --workspace clinic --from 2026-01-01 --format csv'),
    )
    .action((options: ScorecardOptions) => untilInterrupted((signal) => runScorecard(options, signal)));
}

async function runScorecard(options: ScorecardOptions, signal: AbortSignal): Promise<void> {
  const { workspace, from, to, format } = options;
  validate(serviceDaysSchema, { from, to });
  await withWorkspace(workspace, ({ eventLog, caller, names }) =>
    withCurrentModels(eventLog, async (readModels) => {
      const query = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
      await recordAccess(eventLog, caller, { action: 'readiness.scorecard', query });
      let scorecard: Scorecard | undefined;
      await withProgressBar(async (reached) => {
        for await (const progress of makeScorecard({ eventLog, readModels }, workspace, { from, to })) {
          reached(progress.encounters, progress.total);
          scorecard = progress.scorecard;
          signal.throwIfAborted();
        }
      });
      if (scorecard === undefined) return;
      await names.learn(scorecard.rows.map(({ principal }) => principal));
      await writers[format](scorecard, names);
    }),
  );
}

const writers = { table: writeAsTable, json: writeAsJson, csv: writeAsCsv };

function writeAsTable({ encounters, unreadable, rows }: Scorecard, names: PrincipalNames): void {
  writeLine(`${counted(encounters, 'encounter')}.`);
  if (unreadable > 0) writeLine(`Of these ${count(unreadable)} cannot be read, and are not counted.`);
  if (rows.length === 0) return;
  writeLine();
  writeTable(
    ['WHO', 'FIELD', 'DEFECTS', 'OPEN', 'HOURS UNTIL MENDED', 'ENCOUNTERS DELAYED'],
    linesOf(rows, names).map((line) => [
      printable(line.principal_name ?? line.principal_id),
      `${line.record_kind}.${line.field}`,
      ...[line.defects, line.open, line.median_hours_until_mended ?? '', line.encounters_delayed].map(String),
    ]),
  );
}

function writeAsJson({ rows, ...rest }: Scorecard, names: PrincipalNames): void {
  writeJson({
    ...rest,
    rows: rows.map(({ principal, ...row }) => ({
      principal: { ...principal, name: names.nameOf(principal) ?? null },
      ...row,
    })),
  });
}

async function writeAsCsv({ rows }: Scorecard, names: PrincipalNames): Promise<void> {
  await writePaced(csvLine(scorecardColumns));
  for (const line of linesOf(rows, names)) {
    await writePaced(csvLine(scorecardColumns.map((column) => line[column])));
  }
}

function linesOf(rows: Scorecard['rows'], names: PrincipalNames) {
  return rows.map((row) => scorecardLine(row, names.nameOf(row.principal)));
}
