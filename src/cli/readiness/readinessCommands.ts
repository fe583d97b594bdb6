import { Argument, type Command } from 'commander';
import { withWorkspace } from '../../app/withStores.ts';
import { choiceOf, type RuleChoice, readRuleSettings, ruleChoices } from '../../readiness/ruleSettings.ts';
import { rules } from '../../readiness/rules/index.ts';
import { setRule } from '../../readiness/setRule.ts';
import { example, writeJson, writeLine, writeTable } from '../output.ts';

interface RulesOptions {
  workspace: string;
  json?: boolean;
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
}

async function listRules({ workspace, json }: RulesOptions): Promise<void> {
  await withWorkspace(workspace, async ({ eventLog }) => {
    const settings = await readRuleSettings(eventLog, workspace);
    const found = rules.map((rule) => ({
      rule: rule.code,
      choice: choiceOf(settings, rule),
      default: rule.severity,
      title: rule.title,
      source: rule.source,
    }));
    if (json) writeJson(found);
    else
      writeTable(
        ['RULE', 'CHOICE', 'DEFAULT', 'WHAT IT DEMANDS'],
        found.map((one) => [one.rule, one.choice, one.default, one.title]),
      );
  });
}
