import { markdown, number } from '../../bench/support/report.ts';
import type { Outcome, Scenario, Torture } from '../scenario.ts';

/** Maximum number of failures that a section lists; the rest are counted. */
const TOLD = 20;

/** Whether everything that a scenario checked holds. */
export function holds({ failures }: Outcome): boolean {
  return failures.length === 0;
}

/** Returns the command that runs a scenario again with the same choices. */
export function commandOf({ name }: Scenario, { seed, short }: Pick<Torture, 'seed' | 'short'>): string {
  return `npm run torture -- --scenario ${name} --seed ${seed}${short ? ' --short' : ''}`;
}

/** Returns a scenario's section in Markdown. */
export function section(
  scenario: Scenario,
  torture: Pick<Torture, 'seed' | 'short'>,
  outcome: Outcome,
): string {
  const { name, description } = scenario;
  const date = new Date().toISOString().slice(0, 16).replace('T', ' ');
  const form = torture.short ? 'short form' : 'full form';
  const rows = outcome.figures.map(([what, figure]) => [
    what,
    typeof figure === 'number' ? number(figure) : figure,
  ]);
  const table = markdown({ columns: ['what', 'figure'], rows: [...rows, ['verdict', verdict(outcome)]] });
  const circumstances = `\`${commandOf(scenario, torture)}\`: ${form}, Node ${process.version}, ${process.platform}, ${date} UTC.`;
  return [`## ${name}`, description, circumstances, table, ...told(outcome.failures)].join('\n\n');
}

function verdict(outcome: Outcome): string {
  return holds(outcome) ? '✓' : `✗ ${number(outcome.failures.length)} failures`;
}

function told(failures: readonly string[]): string[] {
  if (failures.length === 0) return [];
  return [
    failures
      .slice(0, TOLD)
      .map((failure) => `- ${failure}`)
      .join('\n'),
  ];
}
