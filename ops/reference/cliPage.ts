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
    'A command is a noun and a verb, such as `keys create`; what concerns the whole service is a verb, such as `backup`. `list` is what ' +
      '`audit`, `disclosures` and `retention` do without a verb. `set` changes what its options name and keeps the rest.',
    'A command works on the stores that the settings name, as the service does, and says which event log that is. Where ' +
      'there is none it makes none, unless `--init` is given; what root makes in the data folder of another user belongs to ' +
      'that user. `demo`, `import`, `listen`, `events` and `records get`, `list` and `search` speak to a service over HTTP: at `--url`, otherwise ' +
      'at `CHARTLEDGER_URL`, with the key in `CHARTLEDGER_API_KEY` or in a file. The exit code is 0 when all went well, 1 when something ' +
      'failed or was found, 2 for wrong usage, and 130 after an interruption.',
    'Every command that prints data prints it as JSON with `--json`. To type less, and for completion, use an alias: ' +
      "`alias chartledger='npx --no-install chartledger'`.",
    'The names of commands and options of 0.1.0 are accepted in this release, with a note that says what they are called now.',
    `\`\`\`text\n${helpOf(program)}\n\`\`\``,
    ...sections,
  );
}
