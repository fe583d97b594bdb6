import type { Command } from 'commander';
import { commandProgram } from '../../src/cli/program.ts';
import { page } from './markdown.ts';

const COLUMNS = 100;

/** Returns what `--help` says about a command. */
function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({
    writeOut: (part) => {
      text += part;
    },
    getOutHelpWidth: () => COLUMNS,
  });
  command.outputHelp();
  return text.trim();
}

/**
 * Returns the commands that do something, with their full names; those that only contain others and take no
 * arguments are left out.
 */
function runnable(command: Command, parents: string[] = []): { name: string; command: Command }[] {
  const names = [...parents, command.name()];
  const within = command.commands.flatMap((child) => runnable(child, names));
  const isRunnable = within.length === 0 || command.registeredArguments.length > 0;
  return [...(isRunnable ? [{ name: names.join(' '), command }] : []), ...within];
}

/** `docs/reference/cli.md` */
export async function cliPage(): Promise<string> {
  const program = await commandProgram();
  const sections = runnable(program).map(
    ({ name, command }) => `## ${name}\n\n\`\`\`text\n${helpOf(command)}\n\`\`\``,
  );
  return page(
    'Command line',
    'A command works on the stores that the settings name, as the service does, and says which event log that is. Where ' +
      'there is none it makes none, unless `--init` is given; what root makes in the data folder of another user belongs to ' +
      'that user. `import`, `records`, `listen` and `events` speak to a service over HTTP. The exit code is 0 when all went well, 1 when something ' +
      'failed or was found, 2 for wrong usage, and 130 after an interruption.',
    `\`\`\`text\n${helpOf(program)}\n\`\`\``,
    ...sections,
  );
}
