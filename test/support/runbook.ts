import { readFileSync } from 'node:fs';

const page = readFileSync('docs/operate/runbook.md', 'utf8');

/** The sections of the runbook, each named after its alert. */
export const runbookSections = [...page.matchAll(/^## (.+)$/gm)].map(([, title]) => title as string);

/** The commands of `chartledger` that a part of an alert's section names, in their order. */
export function runbookCommands(alert: string, part: 'Look' | 'Fix'): string[][] {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${alert}\n`));
  const text = section?.split(`**${part}.**`)[1]?.split('\n**')[0];
  if (text === undefined) throw new Error(`the runbook has no part ${part} for ${alert}`);
  // Between backquotes, or the line of a block.
  const commands = text.replaceAll(/\s+/g, ' ').matchAll(/`(?:sh )?(?:npx )?chartledger ([^`]+?) ?`/g);
  return [...commands].map(([, command = '']) => command.split(' '));
}
