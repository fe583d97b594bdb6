import { Argument, type Command } from 'commander';
import { type DocumentCategory, documentFieldsSchema } from '../../domain/records/document.ts';
import { visitTypes } from '../../domain/records/kinds/encounter.ts';
import { type RuleChoice, ruleChoices } from '../../modules/readiness/rules/ruleSettings.ts';
import { setFilingLimit } from '../../modules/readiness/setFilingLimit.ts';
import { setRequiredDocument } from '../../modules/readiness/setRequiredDocument.ts';
import { setRule } from '../../modules/readiness/setRule.ts';
import { withWorkspace } from '../../server/withStores.ts';
import { example, printable, writeLine } from '../lib/output.ts';
import { parseDays } from '../lib/parseDays.ts';
import { listRules } from './listRules.ts';
import { addScorecardCommand } from './scorecardCommand.ts';
import { addSimulateCommand } from './simulateCommand.ts';

const categories = documentFieldsSchema.shape.category.options;

interface SettingOptions {
  workspace: string;
}

/** `chartledger readiness …` */
export function addReadinessCommands(program: Command): void {
  const readiness = program
    .command('readiness')
    .description(
      'Rules that decide whether the encounters of a workspace are ready to be billed, and the effect of ' +
        'each.',
    );

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
    .command('filing-limit')
    .description(
      'Set how many days after the date of service payers accept a claim; used by the rules timely_filing ' +
        'and filing_limit_near.',
    )
    .argument(
      '<days>',
      'the last day on which a claim is accepted, counted from the date of service; or none',
      parseDays,
    )
    .option('--payer <id>', 'only for this payer; without it, for all payers that have no limit of their own')
    .requiredOption('--workspace <id>', 'the workspace')
    .addHelpText(
      'after',
      example(
        'chartledger readiness filing-limit 365 --workspace clinic',
        'chartledger readiness filing-limit 90 --payer payer-1 --workspace clinic',
      ),
    )
    .action((days: number | null, { payer, workspace }: SettingOptions & { payer?: string }) =>
      withWorkspace(workspace, async ({ eventLog, caller }) => {
        await setFilingLimit(eventLog, caller, days, payer);
        const whose = payer === undefined ? '' : ` of payer ${printable(payer)}`;
        const limit = days === null ? 'none' : `${days} days`;
        writeLine(`Filing limit${whose} in workspace ${workspace}: ${limit}.`);
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

  addSimulateCommand(readiness);
  addScorecardCommand(readiness);
}
