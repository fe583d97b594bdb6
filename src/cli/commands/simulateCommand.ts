import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { validate } from '../../domain/records/schema/validate.ts';
import { simulationAccess } from '../../modules/audit/readinessAccesses.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import {
  type CandidateSettings,
  candidateSettingsSchema,
} from '../../modules/readiness/candidateSettings.ts';
import { type Found, foundSchema, openSimulation } from '../../modules/readiness/openSimulation.ts';
import { serviceDaysSchema } from '../../modules/readiness/serviceDays.ts';
import { noSimulation, type Simulation } from '../../modules/readiness/simulate.ts';
import { ServiceError } from '../../platform/errors.ts';
import { withCurrentModels, withWorkspace } from '../../server/withStores.ts';
import { count, example, printable, writeJson, writeLine, writeTable } from '../lib/output.ts';
import { untilInterrupted } from '../lib/untilInterrupted.ts';
import { withProgressBar } from '../lib/withProgressBar.ts';

interface SimulateOptions {
  workspace: string;
  rules: string;
  from?: string;
  to?: string;
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
        '{"facility_tax_id": "warns"}, "filing_limits": {"default": 365, "payers": {"payer-1": 90}}, ' +
        '"required_documents": {"inpatient": ["discharge_summary"]}}.',
    )
    .requiredOption('--workspace <id>', 'the workspace')
    .requiredOption('--rules <file>', 'the settings')
    .option('--from <day>', 'only encounters with a day of service on or after this day: 2026-03-14')
    .option('--to <day>', 'only encounters with a day of service on or before this day')
    .option('--state <file>', 'where to keep intermediate results, so that an interrupted run can resume')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      example('chartledger readiness simulate --rules candidate.json --from 2026-01-01 --workspace clinic'),
    )
    .action((options: SimulateOptions) => untilInterrupted((signal) => runSimulation(options, signal)));
}

async function runSimulation(options: SimulateOptions, signal: AbortSignal): Promise<void> {
  const { workspace, from, to, state, json } = options;
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
      else tell(result);
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

function tell({ encounters, flips, byPayer, byRule }: Simulation): void {
  const all = Object.values(flips).reduce((sum, one) => sum + one, 0);
  writeLine(`Of ${count(encounters)} encounters ${count(all)} would be in another state.`);
  const flipRows = (named: Record<string, number>) =>
    Object.entries(named).map(([flip, one]) => [...flip.split(' '), String(one)]);
  table(['NOW', 'THEN', 'ENCOUNTERS'], flipRows(flips));
  table(
    ['PAYER', 'NOW', 'THEN', 'ENCOUNTERS'],
    Object.entries(byPayer).flatMap(([payer, sums]) =>
      flipRows(sums).map((row) => [payer === '' ? 'none' : printable(payer), ...row]),
    ),
  );
  table(
    ['RULE', 'WOULD FIND', 'WOULD FIND NO MORE', 'FOR EXAMPLE'],
    Object.entries(byRule).map(([rule, { found, gone, examples }]) => [
      ...[rule, String(found), String(gone), examples.map(printable).join(' ')],
    ]),
  );
}

function table(header: string[], rows: string[][]): void {
  if (rows.length === 0) return;
  writeLine();
  writeTable(header, rows);
}
