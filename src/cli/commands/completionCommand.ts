import { Argument, type Command } from 'commander';
import { example, print } from '../lib/output.ts';
import { bashCompletion } from './bashCompletion.ts';
import { completedCommands } from './completedCommands.ts';
import { fishCompletion } from './fishCompletion.ts';
import { zshCompletion } from './zshCompletion.ts';

const scripts = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

/** `chartledger completion` */
export function addCompletionCommand(program: Command): void {
  program
    .command('completion')
    .description('Print a shell completion script for commands, options and their values.')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(scripts)))
    .addHelpText(
      'after',
      example(
        'chartledger completion bash > ~/.local/share/bash-completion/completions/chartledger',
        'chartledger completion zsh > "$fpath[1]/_chartledger"',
        'chartledger completion fish > ~/.config/fish/completions/chartledger.fish',
      ),
    )
    .action((shell: keyof typeof scripts) => print([scripts[shell](completedCommands(program))]));
}
