import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { type DocumentCategory, documentFieldsSchema } from '../../domain/records/document.ts';
import { visitTypes } from '../../domain/records/kinds/encounter.ts';
import { validate } from '../../domain/records/schema/validation.ts';
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
import { payerRuleChangesSchema } from '../../modules/readiness/rules/payerRuleData.ts';
import { payerRulesIn } from '../../modules/readiness/rules/payerRules.ts';
import {
  type BillingEntities,
  type BillingEntity,
  billingEntities,
  choiceOf,
  type OfPayers,
  type RequiredDocuments,
  type RuleChoice,
  readRuleSettings,
  ruleChoices,
} from '../../modules/readiness/rules/rule.ts';
import {
  setBillingEntity,
  setFilingLimit,
  setPayerRules,
  setRequiredDocument,
  setRule,
  setTimeZone,
} from '../../modules/readiness/settings.ts';
import { withWorkspace } from '../../server/stores.ts';
import { readJsonFile } from '../lib/files.ts';
import {
  counted,
  example,
  printable,
  writeBelow,
  writeJson,
  writeLine,
  writeTable,
} from '../lib/terminal.ts';
import { addScorecardCommand, addSimulateCommand } from './readinessAnalyses.ts';
import { addAnswerCommand } from './readinessAnswer.ts';

/** Lists the rules and a workspace's settings for them. */
async function listRules({ workspace, json }: { workspace: string; json?: boolean }): Promise<void> {
  await withWorkspace(workspace, async ({ eventLog }) => {
    const settings = await readRuleSettings(eventLog, workspace);
    const limits = limitRows(settings.filingLimits);
    const required = requiredRows(settings.requiredDocuments);
    const entities = entityRows(settings.billingEntities);
    const { timeZone } = settings;
    const payerChoices = [...(settings.payerChoices?.values() ?? [])];
    const found = [...rules, ...payerRulesIn(settings)].map((rule) => ({
      rule: rule.code,
      choice: choiceOf(settings, rule),
      default: rule.severity,
      title: rule.title,
      source: rule.source,
      payer_choices: payerChoices
        .filter((one) => one.rule === rule.code)
        .map(({ rule: _, ...choice }) => choice),
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
      found.map((one) => [one.rule, one.choice, one.default, printable(one.title)]),
    );
    writeBelow(
      ['RULE', 'FOR', 'CHOICE'],
      payerChoices.map(({ rule, choice, ...payers }) => [rule, payersText(payers), choice]),
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

/** Returns what a setting for some payers is for. */
function payersText({ payer_id: id, payer_type: type }: OfPayers): string {
  return id === undefined ? `payers of the type ${printable(type ?? '')}` : `payer ${printable(id)}`;
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
    .option('--payer <id>', 'only for claims to this payer')
    .addOption(new Option('--payer-type <type>', 'only for claims to payers of this type').conflicts('payer'))
    .requiredOption('--workspace <id>', 'the workspace')
    .addHelpText(
      'after',
      example(
        'chartledger readiness set taxonomy_code warns --workspace clinic',
        'chartledger readiness set gender_missing blocks --payer-type medicare --workspace clinic',
      ),
    )
    .action(
      (
        rule: string,
        choice: RuleChoice | 'default',
        { payer, payerType, workspace }: SettingOptions & { payer?: string; payerType?: string },
      ) =>
        withWorkspace(workspace, async ({ eventLog, caller }) => {
          const payers = { payer_id: payer, payer_type: payerType };
          await setRule(eventLog, caller, rule, choice, payers);
          const whose = payer === undefined && payerType === undefined ? '' : ` for ${payersText(payers)}`;
          writeLine(`Rule ${rule}${whose} in workspace ${workspace}: ${choice}.`);
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

  readiness
    .command('export-rules')
    .description('Write the rules of payers as JSON, as import-rules reads them.')
    .requiredOption('--workspace <id>', 'the workspace')
    .addHelpText('after', example('chartledger readiness export-rules --workspace clinic > rules.json'))
    .action(({ workspace }: SettingOptions) =>
      withWorkspace(workspace, async ({ eventLog }) => {
        const { payerRules = new Map() } = await readRuleSettings(eventLog, workspace);
        writeJson(Object.fromEntries(payerRules));
      }),
    );

  readiness
    .command('import-rules')
    .description(
      'Set rules of payers from a JSON file: an object with a rule for each id, or null to remove it. Other rules stay as they are.',
    )
    .argument('<file>', 'the JSON file')
    .requiredOption('--workspace <id>', 'the workspace')
    .addHelpText('after', example('chartledger readiness import-rules rules.json --workspace clinic'))
    .action(async (file: string, { workspace }: SettingOptions) => {
      const given = validate(payerRuleChangesSchema, await readJsonFile(file));
      await withWorkspace(workspace, async ({ eventLog, caller }) => {
        const outcome = await setPayerRules(eventLog, caller, given, { isWhole: false });
        const count = counted(Object.keys(given).length, 'rule');
        writeLine(`Rules of payers in workspace ${workspace}: ${count} in the file, ${outcome}.`);
      });
    });

  addAnswerCommand(readiness);
  addSimulateCommand(readiness);
  addScorecardCommand(readiness);
}
