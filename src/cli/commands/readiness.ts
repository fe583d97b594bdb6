import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { type DocumentCategory, documentFieldsSchema } from '../../domain/records/document.ts';
import { visitTypes } from '../../domain/records/kinds/encounter.ts';
import { validate } from '../../domain/records/schema/validation.ts';
import { simulationAccess } from '../../modules/audit/accesses.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { billingNpi } from '../../modules/readiness/rules/billingEntity.ts';
import { timelyFiling } from '../../modules/readiness/rules/dates.ts';
import { documentMissing } from '../../modules/readiness/rules/encounter.ts';
import {
  type FilingLimit,
  type FilingLimits,
  type LimitedType,
  legalLimits,
  limitedTypes,
  limitOfText,
  limitText,
} from '../../modules/readiness/rules/filingLimits.ts';
import { rules } from '../../modules/readiness/rules/index.ts';
import {
  type BillingEntities,
  type BillingEntity,
  billingEntities,
  choiceOf,
  type RequiredDocuments,
  type RuleChoice,
  readRuleSettings,
  ruleChoices,
} from '../../modules/readiness/rules/rule.ts';
import {
  makeScorecard,
  type Scorecard,
  scorecardColumns,
  scorecardLine,
} from '../../modules/readiness/scorecard.ts';
import {
  setBillingEntity,
  setFilingLimit,
  setRequiredDocument,
  setRule,
  setTimeZone,
} from '../../modules/readiness/settings.ts';
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
  writeJson,
  writeLine,
  writePaced,
  writeTable,
} from '../lib/terminal.ts';
import { addAnswerCommand } from './readinessAnswer.ts';

/** Lists the rules and a workspace's settings for them. */
async function listRules({ workspace, json }: { workspace: string; json?: boolean }): Promise<void> {
  await withWorkspace(workspace, async ({ eventLog }) => {
    const settings = await readRuleSettings(eventLog, workspace);
    const limits = limitRows(settings.filingLimits);
    const required = requiredRows(settings.requiredDocuments);
    const entities = entityRows(settings.billingEntities);
    const { timeZone } = settings;
    const found = rules.map((rule) => ({
      rule: rule.code,
      choice: choiceOf(settings, rule),
      default: rule.severity,
      title: rule.title,
      source: rule.source,
      ...(rule === timelyFiling && { limits, time_zone: timeZone }),
      ...(rule === billingNpi && { billing_entities: entities }),
      ...(rule === documentMissing && { required }),
    }));
    if (json) {
      writeJson(found);
      return;
    }
    writeTable(
      ['RULE', 'CHOICE', 'DEFAULT', 'WHAT IT DEMANDS'],
      found.map((one) => [one.rule, one.choice, one.default, one.title]),
    );
    writeBelow(
      ['FILING LIMIT OF', 'LIMIT'],
      limits.map(({ payer_id: payer, payer_type: type, limit }) => [
        payer !== null ? printable(payer) : type !== null ? `payers of the type ${type}` : 'all other payers',
        limitText(limit),
      ]),
    );
    writeBelow(
      ['CLAIMS AT', 'ARE BILLED BY'],
      entities.map(({ facility_id: id, entity }) => [
        id === null ? 'all other facilities' : printable(id),
        `the ${entity}`,
      ]),
    );
    writeBelow(['DAYS END IN'], [[timeZone]]);
    writeBelow(
      ['VISIT TYPE', 'REQUIRED DOCUMENT'],
      required.map(({ visit_type: visitType, category }) => [visitType, category]),
    );
  });
}

/** Prints another table, if it has rows. */
function writeBelow(header: string[], rows: string[][]): void {
  if (rows.length === 0) return;
  writeLine();
  writeTable(header, rows);
}

interface LimitRow {
  payer_id: string | null;
  payer_type: string | null;
  limit: FilingLimit;
}

/** Returns the limits of payers, of types of payers, then the one for all others. */
function limitRows({ byPayer, byType, default: others }: FilingLimits): LimitRow[] {
  return [
    ...[...byPayer].map(([payer_id, limit]) => ({ payer_id, payer_type: null, limit })),
    ...limitedTypes.map((type) => ({
      payer_id: null,
      payer_type: type,
      limit: byType.get(type) ?? legalLimits[type],
    })),
    ...(others === undefined ? [] : [{ payer_id: null, payer_type: null, limit: others }]),
  ];
}

function entityRows({ byFacility, default: others }: BillingEntities) {
  return [
    ...[...byFacility].map(([facility_id, entity]) => ({ facility_id, entity })),
    ...(others === undefined ? [] : [{ facility_id: null, entity: others }]),
  ];
}

const NONE = 'none';

/** Parses `90`, `90d`, `6m`, `1y`; `null` for `none`. */
function parseLimit(text: string): FilingLimit | null {
  if (text === NONE) return null;
  const limit = limitOfText(text);
  if (limit !== undefined) return limit;
  throw new InvalidArgumentError('Specify days, months or years, such as 90d, 6m or 1y, or none.');
}

function requiredRows(required: RequiredDocuments): { visit_type: string; category: string }[] {
  return [...required].flatMap(([visitType, categories]) =>
    categories.map((category) => ({ visit_type: visitType, category })),
  );
}

interface ScorecardOptions {
  workspace: string;
  since?: string;
  until?: string;
  format: keyof typeof writers;
}

/** `chartledger readiness scorecard` */
function addScorecardCommand(readiness: Command): void {
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
function addSimulateCommand(readiness: Command): void {
  readiness
    .command('simulate')
    .description(
      'Simulate other settings on the encounters of the workspace, and report how many would change state, ' +
        'by payer and rule. Changes nothing. The file is JSON with the settings to change: {"rules": ' +
        '{"facility_tax_id": "warns"}, "filing_limits": {"default": "P6M", "payers": {"payer-1": "P90D"}}, ' +
        '"billing_entities": {"default": "facility"}, "required_documents": {"inpatient": ["discharge_summary"]}}.',
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

const categories = documentFieldsSchema.shape.category.options;

interface SettingOptions {
  workspace: string;
}

type LimitOptions = SettingOptions & { payer?: string; payerType?: LimitedType };

/** `chartledger readiness …` */
export function addReadinessCommands(readiness: Command): void {
  readiness
    .command('rules')
    .description('List the rules and the effect of their findings.')
    .requiredOption('--workspace <id>', 'the workspace')
    .option('--json', 'print a JSON array')
    .addHelpText('after', example('chartledger readiness rules --workspace clinic'))
    .action(listRules);

  readiness
    .command('set')
    .description("Set the effect of a rule's findings on every encounter of the workspace, from now on.")
    .argument('<rule>', 'the rule, as listed')
    .addArgument(
      new Argument(
        '<choice>',
        'blocks: the encounter is not ready; warns: it can still be ready; off: no findings; default: the ' +
          "rule's own severity",
      ).choices([...ruleChoices, 'default']),
    )
    .requiredOption('--workspace <id>', 'the workspace')
    .addHelpText('after', example('chartledger readiness set taxonomy_code warns --workspace clinic'))
    .action((rule: string, choice: RuleChoice | 'default', { workspace }: SettingOptions) =>
      withWorkspace(workspace, async ({ eventLog, caller }) => {
        await setRule(eventLog, caller, rule, choice);
        writeLine(`Rule ${rule} in workspace ${workspace}: ${choice}.`);
      }),
    );

  readiness
    .command('set-filing-limit')
    .description(
      'Set how long after the date of service payers accept a claim; used by the rules timely_filing ' +
        'and filing_limit_near.',
    )
    .argument(
      '<limit>',
      'days, months or years from the date of service to the last day on which a claim is accepted: 90d, 6m, 1y; or none',
      parseLimit,
    )
    .option('--payer <id>', 'only for this payer; without it, for all payers without a separate limit')
    .addOption(
      new Option('--payer-type <type>', "only for payers of this type, in place of the law's limit")
        .choices(limitedTypes)
        .conflicts('payer'),
    )
    .requiredOption('--workspace <id>', 'the workspace')
    .addHelpText(
      'after',
      example(
        'chartledger readiness set-filing-limit 6m --workspace clinic',
        'chartledger readiness set-filing-limit 90d --payer-type medicaid --workspace clinic',
        'chartledger readiness set-filing-limit 90 --payer payer-1 --workspace clinic',
      ),
    )
    .action((limit: FilingLimit | null, { payer, payerType, workspace }: LimitOptions) =>
      withWorkspace(workspace, async ({ eventLog, caller }) => {
        await setFilingLimit(eventLog, caller, {
          limit,
          ...(payer !== undefined && { payer_id: payer }),
          ...(payerType !== undefined && { payer_type: payerType }),
        });
        const ofType = payerType === undefined ? '' : ` of payers of the type ${payerType}`;
        const whose = payer === undefined ? ofType : ` of payer ${printable(payer)}`;
        const shown = limit === null ? NONE : limitText(limit);
        writeLine(`Filing limit${whose} in workspace ${workspace}: ${shown}.`);
      }),
    );

  readiness
    .command('set-billing-entity')
    .description(
      'Set who bills: whose NPI, tax ID and address the claim has for its billing provider. What that one lacks ' +
        'blocks an encounter.',
    )
    .addArgument(new Argument('<entity>', 'who bills').choices([...billingEntities, NONE]))
    .option(
      '--facility <id>',
      'only at this facility; without it, at all facilities without a separate setting',
    )
    .requiredOption('--workspace <id>', 'the workspace')
    .addHelpText(
      'after',
      example(
        'chartledger readiness set-billing-entity facility --workspace clinic',
        'chartledger readiness set-billing-entity provider --facility facility-1 --workspace clinic',
      ),
    )
    .action(
      (
        entity: BillingEntity | typeof NONE,
        { facility, workspace }: SettingOptions & { facility?: string },
      ) =>
        withWorkspace(workspace, async ({ eventLog, caller }) => {
          await setBillingEntity(eventLog, caller, {
            entity: entity === NONE ? null : entity,
            ...(facility !== undefined && { facility_id: facility }),
          });
          const where = facility === undefined ? '' : ` at facility ${printable(facility)}`;
          writeLine(`Billing entity${where} in workspace ${workspace}: ${entity}.`);
        }),
    );

  readiness
    .command('set-time-zone')
    .description(
      'Set the time zone in which days begin and end: the day of a date of service in UTC, and the last day for filing.',
    )
    .argument('<zone>', 'the IANA name of the time zone; or none, for UTC')
    .requiredOption('--workspace <id>', 'the workspace')
    .addHelpText('after', example('chartledger readiness set-time-zone America/Chicago --workspace clinic'))
    .action((zone: string, { workspace }: SettingOptions) =>
      withWorkspace(workspace, async ({ eventLog, caller }) => {
        await setTimeZone(eventLog, caller, zone === NONE ? null : zone);
        writeLine(`Time zone of workspace ${workspace}: ${zone === NONE ? 'UTC' : zone}.`);
      }),
    );

  readiness
    .command('require-document')
    .description('Require a document for encounters of a visit type; used by the rule document_missing.')
    .addArgument(new Argument('<visit_type>', 'the visit type').choices(visitTypes))
    .addArgument(new Argument('<category>', 'the category of the document').choices(categories))
    .option('--remove', 'no longer require it')
    .requiredOption('--workspace <id>', 'the workspace')
    .addHelpText(
      'after',
      example('chartledger readiness require-document inpatient discharge_summary --workspace clinic'),
    )
    .action(
      (
        visitType: string,
        category: DocumentCategory,
        { remove = false, workspace }: SettingOptions & { remove?: boolean },
      ) =>
        withWorkspace(workspace, async ({ eventLog, caller }) => {
          const data = { visit_type: visitType, category, required: !remove };
          await setRequiredDocument(eventLog, caller, data);
          const isRequired = remove ? 'not required' : 'required';
          writeLine(`Document ${category} of ${visitType} in workspace ${workspace}: ${isRequired}.`);
        }),
    );

  addAnswerCommand(readiness);
  addSimulateCommand(readiness);
  addScorecardCommand(readiness);
}
