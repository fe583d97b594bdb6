import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { validate } from '../../domain/records/schema/validation.ts';
import { simulationAccess } from '../../modules/audit/accesses.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import {
  makeScorecard,
  type Scorecard,
  scorecardColumns,
  scorecardLine,
} from '../../modules/readiness/scorecard.ts';
import {
  type CandidateSettings,
  candidateSettingsSchema,
  type Found,
  foundSchema,
  noSimulation,
  openSimulation,
  type Simulation,
} from '../../modules/readiness/simulation.ts';
import { serviceDaysSchema } from '../../modules/readiness/worklistModel.ts';
import type { PrincipalNames } from '../../modules/records/queries/principalNames.ts';
import { csvLine } from '../../platform/csv.ts';
import { ServiceError } from '../../platform/errors.ts';
import { withCurrentModels, withWorkspace } from '../../server/stores.ts';
import { addFormatOptions } from '../lib/options.ts';
import { withProgressBar } from '../lib/progress.ts';
import {
  count,
  counted,
  example,
  printable,
  untilInterrupted,
  writeBelow,
  writeJson,
  writeLine,
  writePaced,
  writeTable,
} from '../lib/terminal.ts';

interface ScorecardOptions {
  workspace: string;
  since?: string;
  until?: string;
  format: keyof typeof writers;
}

/** `chartledger readiness scorecard` */
export function addScorecardCommand(readiness: Command): void {
  const command = readiness
    .command('scorecard')
    .description(
      'For each key and field, report how many defects were sent, how long they took to be fixed, and how ' +
        'many encounters they delayed, based on the full history of the encounters.',
    )
    .requiredOption('--workspace <id>', 'the workspace')
    .option('--since <day>', 'only encounters with a day of service on or after this day: 2026-03-14')
    .option('--until <day>', 'only encounters with a day of service on or before this day');
  addFormatOptions(command, Object.keys(writers), 'the output format', 'table')
    .addHelpText(
      'after',
      example('chartledger readiness scorecard --workspace clinic --since 2026-01-01 --format csv'),
    )
    .action((options: ScorecardOptions) => untilInterrupted((signal) => runScorecard(options, signal)));
}

async function runScorecard(options: ScorecardOptions, signal: AbortSignal): Promise<void> {
  const { workspace, since: from, until: to, format } = options;
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
      await names.learn([...scorecard.rows, ...scorecard.rejections].map(({ principal }) => principal));
      await writers[format](scorecard, names);
    }),
  );
}

const writers = { table: writeAsTable, json: writeAsJson, csv: writeAsCsv };

function writeAsTable({ encounters, unreadable, rows, rejections }: Scorecard, names: PrincipalNames): void {
  writeLine(`${counted(encounters, 'encounter')}.`);
  if (unreadable > 0) writeLine(`Of these ${count(unreadable)} cannot be read, and are not counted.`);
  writeBelow(
    ['REFUSED', 'CODE', 'RECORD', 'WHO WROTE IT', 'CLAIMS', 'NO RULE FOUND IT'],
    rejections.map(({ source, outcome, code, kind, principal, claims, uncaught }) => [
      ...[`${outcome} (${source})`, code === '' ? '-' : code, kind],
      ...[printable(names.nameOf(principal) ?? principal.id), String(claims), String(uncaught)],
    ]),
  );
  if (rows.length === 0) return;
  writeLine();
  writeTable(
    ['WHO', 'FIELD', 'DEFECTS', 'OPEN', 'HOURS UNTIL FIXED', 'ENCOUNTERS DELAYED'],
    linesOf(rows, names).map((line) => [
      printable(line.principal_name ?? line.principal_id),
      `${line.record_kind}.${line.field}`,
      ...[line.defects, line.open, line.median_hours_until_mended ?? '', line.encounters_delayed].map(String),
    ]),
  );
}

function writeAsJson({ rows, rejections, ...rest }: Scorecard, names: PrincipalNames): void {
  const named = <Row extends { principal: Scorecard['rows'][number]['principal'] }>({
    principal,
    ...row
  }: Row) => ({
    principal: { ...principal, name: names.nameOf(principal) ?? null },
    ...row,
  });
  writeJson({ ...rest, rows: rows.map(named), rejections: rejections.map(named) });
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

interface SimulateOptions {
  workspace: string;
  rules: string;
  since?: string;
  until?: string;
  state?: string;
  json?: boolean;
}

const OWNER_ONLY = 0o600;

/** `chartledger readiness simulate` */
export function addSimulateCommand(readiness: Command): void {
  readiness
    .command('simulate')
    .description(
      'Simulate other settings on the encounters of the workspace, and report how many would change state, ' +
        'by payer and rule. Changes nothing. The file is JSON with the settings to change: {"rules": ' +
        '{"facility_tax_id": "warns"}, "filing_limits": {"default": "P6M", "payers": {"payer-1": "P90D"}}, ' +
        '"billing_entities": {"default": "facility"}, "payer_rules": {"member_id": null}, "required_documents": {"inpatient": ["discharge_summary"]}}.',
    )
    .requiredOption('--workspace <id>', 'the workspace')
    .requiredOption('--rules <file>', 'the settings')
    .option('--since <day>', 'only encounters with a day of service on or after this day: 2026-03-14')
    .option('--until <day>', 'only encounters with a day of service on or before this day')
    .option('--state <file>', 'where to keep intermediate results, so that an interrupted run can resume')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      example('chartledger readiness simulate --rules candidate.json --since 2026-01-01 --workspace clinic'),
    )
    .action((options: SimulateOptions) => untilInterrupted((signal) => runSimulation(options, signal)));
}

async function runSimulation(options: SimulateOptions, signal: AbortSignal): Promise<void> {
  const { workspace, since: from, until: to, state, json } = options;
  const candidates = readCandidates(options.rules);
  validate(serviceDaysSchema, { from, to });
  await withWorkspace(workspace, ({ eventLog, caller }) =>
    withCurrentModels(eventLog, async (readModels) => {
      const simulation = await openSimulation({ eventLog, readModels }, { workspace, candidates, from, to });
      const { question, total } = simulation;
      const file = new StateFile(state, question);
      const earlier = file.read();
      let { result } = earlier ?? { result: noSimulation };
      await withProgressBar(async (reached) => {
        for await (result of simulation.results(earlier)) {
          reached(result.encounters, total);
          file.write(result);
          signal.throwIfAborted();
        }
      });
      await recordAccess(eventLog, caller, simulationAccess(result, { from, to }));
      if (json) writeJson(result);
      else report(result);
      file.remove();
    }),
  );
}

function readCandidates(path: string): CandidateSettings {
  const text = readFileSync(path, 'utf8');
  try {
    return validate(candidateSettingsSchema, JSON.parse(text));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new ServiceError('validation_failed', `${path} is not JSON: ${error.message}.`);
  }
}

/** What was found so far, in a file named by the operator, if wanted; results of a different question are ignored. */
class StateFile {
  readonly #path: string | undefined;
  readonly #question: string;

  constructor(path: string | undefined, question: string) {
    this.#path = path;
    this.#question = question;
  }

  /** Returns what an earlier run of the same question found. */
  read(): Found | undefined {
    if (this.#path === undefined || !existsSync(this.#path)) return undefined;
    const found = validate(foundSchema, JSON.parse(readFileSync(this.#path, 'utf8')));
    return found.question === this.#question ? found : undefined;
  }

  write(result: Simulation): void {
    if (this.#path === undefined) return;
    const beside = `${this.#path}.new`;
    writeFileSync(beside, JSON.stringify({ question: this.#question, result }), { mode: OWNER_ONLY });
    renameSync(beside, this.#path);
  }

  remove(): void {
    if (this.#path !== undefined) rmSync(this.#path, { force: true });
  }
}

function report({ encounters, flips, byPayer, byRule }: Simulation): void {
  const all = Object.values(flips).reduce((sum, one) => sum + one, 0);
  writeLine(`Of ${count(encounters)} encounters ${count(all)} would be in another state.`);
  const flipRows = (named: Record<string, number>) =>
    Object.entries(named).map(([flip, one]) => [...flip.split(' '), String(one)]);
  writeBelow(['NOW', 'THEN', 'ENCOUNTERS'], flipRows(flips));
  writeBelow(
    ['PAYER', 'NOW', 'THEN', 'ENCOUNTERS'],
    Object.entries(byPayer).flatMap(([payer, sums]) =>
      flipRows(sums).map((row) => [payer === '' ? 'none' : printable(payer), ...row]),
    ),
  );
  writeBelow(
    ['RULE', 'WOULD FIND', 'WOULD FIND NO MORE', 'FOR EXAMPLE'],
    Object.entries(byRule).map(([rule, { found, gone, examples }]) => [
      ...[rule, String(found), String(gone), examples.map((text) => printable(text)).join(' ')],
    ]),
  );
}
