import { Argument, type Command } from 'commander';
import { withWorkspace } from '../../app/withStores.ts';
import type { FilingLimits } from '../../readiness/filingLimits.ts';
import { choiceOf, type RuleChoice, readRuleSettings, ruleChoices } from '../../readiness/ruleSettings.ts';
import { rules } from '../../readiness/rules/index.ts';
import { timelyFiling } from '../../readiness/rules/timelyFiling.ts';
import { setFilingLimit } from '../../readiness/setFilingLimit.ts';
import { setRule } from '../../readiness/setRule.ts';
import { parseDays } from '../options/parseDays.ts';
import { example, printable, writeJson, writeLine, writeTable } from '../output.ts';

interface RulesOptions {
  workspace: string;
  json?: boolean;
}

interface LimitOptions {
  workspace: string;
  payer?: string;
}

/** `chartledger readiness …` */
export function addReadinessCommands(program: Command): void {
  const readiness = program
    .command('readiness')
    .description(
      'What keeps encounters of a workspace from being billed: the rules, and what becomes of each.',
    );

  readiness
    .command('rules')
    .description('List the rules, and what becomes of what each finds.')
    .requiredOption('--workspace <id>', 'the workspace')
    .option('--json', 'print a JSON array')
    .addHelpText('after', example('chartledger readiness rules --workspace clinic'))
    .action(listRules);

  readiness
    .command('set')
    .description('Set what becomes of what a rule finds, for every encounter of the workspace, from now on.')
    .argument('<rule>', 'the rule, as listed')
    .addArgument(
      new Argument(
        '<choice>',
        'blocks: the encounter is not ready; warns: it may be; off: nothing is found; default: as the rule has it',
      ).choices([...ruleChoices, 'default']),
    )
    .requiredOption('--workspace <id>', 'the workspace')
    .addHelpText('after', example('chartledger readiness set taxonomy_code warns --workspace clinic'))
    .action((rule: string, choice: RuleChoice | 'default', { workspace }: RulesOptions) =>
      withWorkspace(workspace, async ({ eventLog, caller }) => {
        await setRule(eventLog, caller, rule, choice);
        writeLine(`Rule ${rule} in workspace ${workspace}: ${choice}.`);
      }),
    );

  readiness
    .command('filing-limit')
    .description(
      'Set for how many days after the date of service payers take a claim: what the rule timely_filing goes by.',
    )
    .argument(
      '<days>',
      'the last day on which a claim is taken, counted from the date of service; or none',
      parseDays,
    )
    .option('--payer <id>', 'of this payer alone; without it, of all that have no limit of their own')
    .requiredOption('--workspace <id>', 'the workspace')
    .addHelpText(
      'after',
      example(
        'chartledger readiness filing-limit 365 --workspace clinic',
        'chartledger readiness filing-limit 90 --payer payer-1 --workspace clinic',
      ),
    )
    .action((days: number | null, { payer, workspace }: LimitOptions) =>
      withWorkspace(workspace, async ({ eventLog, caller }) => {
        await setFilingLimit(eventLog, caller, days, payer);
        const whose = payer === undefined ? '' : ` of payer ${printable(payer)}`;
        const limit = days === null ? 'none' : `${days} days`;
        writeLine(`Filing limit${whose} in workspace ${workspace}: ${limit}.`);
      }),
    );
}

async function listRules({ workspace, json }: RulesOptions): Promise<void> {
  await withWorkspace(workspace, async ({ eventLog }) => {
    const settings = await readRuleSettings(eventLog, workspace);
    const limits = limitRows(settings.filingLimits);
    const found = rules.map((rule) => ({
      rule: rule.code,
      choice: choiceOf(settings, rule),
      default: rule.severity,
      title: rule.title,
      source: rule.source,
      ...(rule === timelyFiling && { limits }),
    }));
    if (json) {
      writeJson(found);
      return;
    }
    writeTable(
      ['RULE', 'CHOICE', 'DEFAULT', 'WHAT IT DEMANDS'],
      found.map((one) => [one.rule, one.choice, one.default, one.title]),
    );
    if (limits.length === 0) return;
    writeLine();
    writeTable(
      ['FILING LIMIT OF', 'DAYS'],
      limits.map(({ payer_id: payer, days }) => [
        payer === null ? 'all other payers' : printable(payer),
        String(days),
      ]),
    );
  });
}

/** The limits of payers, then the one of all others. */
function limitRows({ byPayer, default: others }: FilingLimits): { payer_id: string | null; days: number }[] {
  return [
    ...[...byPayer].map(([id, days]) => ({ payer_id: id, days })),
    ...(others === undefined ? [] : [{ payer_id: null, days: others }]),
  ];
}
