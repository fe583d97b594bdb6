import { documentMissing } from '../../modules/readiness/rules/documentMissing.ts';
import type { FilingLimits } from '../../modules/readiness/rules/filingLimits.ts';
import { rules } from '../../modules/readiness/rules/index.ts';
import type { RequiredDocuments } from '../../modules/readiness/rules/requiredDocuments.ts';
import { choiceOf, readRuleSettings } from '../../modules/readiness/rules/ruleSettings.ts';
import { timelyFiling } from '../../modules/readiness/rules/timelyFiling.ts';
import { withWorkspace } from '../../server/withStores.ts';
import { printable, writeJson, writeLine, writeTable } from '../lib/output.ts';

/** Lists the rules and a workspace's settings for them. */
export async function listRules({ workspace, json }: { workspace: string; json?: boolean }): Promise<void> {
  await withWorkspace(workspace, async ({ eventLog }) => {
    const settings = await readRuleSettings(eventLog, workspace);
    const limits = limitRows(settings.filingLimits);
    const required = requiredRows(settings.requiredDocuments);
    const found = rules.map((rule) => ({
      rule: rule.code,
      choice: choiceOf(settings, rule),
      default: rule.severity,
      title: rule.title,
      source: rule.source,
      ...(rule === timelyFiling && { limits }),
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
      ['FILING LIMIT OF', 'DAYS'],
      limits.map(({ payer_id: payer, days }) => [
        payer === null ? 'all other payers' : printable(payer),
        String(days),
      ]),
    );
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

/** Returns the limits of payers, then the one for all others. */
function limitRows({ byPayer, default: others }: FilingLimits): { payer_id: string | null; days: number }[] {
  return [
    ...[...byPayer].map(([id, days]) => ({ payer_id: id, days })),
    ...(others === undefined ? [] : [{ payer_id: null, days: others }]),
  ];
}

function requiredRows(required: RequiredDocuments): { visit_type: string; category: string }[] {
  return [...required].flatMap(([visitType, categories]) =>
    categories.map((category) => ({ visit_type: visitType, category })),
  );
}
