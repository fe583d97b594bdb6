import { Argument, type Command, type Option } from 'commander';
import { example, firstSentence, print } from '../lib/terminal.ts';

/** Quotes a text literally for bash and zsh. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns a pattern of all commands except the program itself. */
function commandPattern(commands: readonly CompletedCommand[]): string {
  const named = commands.filter(({ path }) => path !== '');
  return named.map(({ path }) => quoted(path)).join(' | ');
}

/** Returns a pattern of the options with open values, each as `COMMAND:OPTION`: file names are completed for them. */
function openPattern(commands: readonly CompletedCommand[]): string {
  const open = commands.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue, choices }) => takesValue && choices.length === 0)
      .map(({ flag }) => quoted(`${path}:${flag}`)),
  );
  return open.join(' | ');
}

/** Returns the options with known values, each as a pattern with its values. */
function knownValues(
  commands: readonly CompletedCommand[],
): { pattern: string; choices: readonly string[] }[] {
  return commands.flatMap(({ path, options }) =>
    options
      .filter(({ choices }) => choices.length > 0)
      .map(({ flag, choices }) => ({ pattern: quoted(`${path}:${flag}`), choices })),
  );
}

/** Returns a script that completes the commands in bash. */
function bashCompletion(commands: readonly CompletedCommand[]): string {
  const values = knownValues(commands).map(
    ({ pattern, choices }) => `    ${pattern}) words=${quoted(choices.join(' '))} ;;`,
  );
  const words = commands.map(({ path, commands: children, options, choices }) => {
    const all = [...children.map(({ name }) => name), ...choices, ...options.map(({ flag }) => flag)];
    return `        ${quoted(path)}) words=${quoted(all.join(' '))} ;;`;
  });
  return `# Completes the commands of chartledger in bash.
_chartledger() {
  local at='' words='' word index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${at:+$at }\${COMP_WORDS[index]}"
    case "$word" in
      ${commandPattern(commands)}) at="$word" ;;
    esac
  done
  case "$at:\${COMP_WORDS[COMP_CWORD - 1]}" in
${values.join('\n')}
    ${openPattern(commands)}) ;;
    *)
      case "$at" in
${words.join('\n')}
      esac
      ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _chartledger chartledger
`;
}

/** An option for shell completion. */
interface CompletedOption {
  /** `--format` */
  flag: string;
  description: string;
  takesValue: boolean;
  /** The values that it accepts; empty if they are open. */
  choices: readonly string[];
}

/** A command for shell completion. */
interface CompletedCommand {
  /** Its names after `chartledger`: `keys create`; empty for the program itself. */
  path: string;
  commands: readonly { name: string; description: string }[];
  options: readonly CompletedOption[];
  /** The values of its arguments that have a fixed set. */
  choices: readonly string[];
}

/** Returns a command and all its subcommands, as shown in its help. */
function completedCommands(command: Command, path = ''): CompletedCommand[] {
  const help = command.createHelp();
  const children = help.visibleCommands(command).filter((child) => command.commands.includes(child));
  const completed: CompletedCommand = {
    path,
    commands: children.map((child) => ({
      name: child.name(),
      description: firstSentence(child.description()),
    })),
    options: help.visibleOptions(command).flatMap(completedOption),
    choices: command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
  };
  const pathOf = (child: Command) => [path, child.name()].filter(Boolean).join(' ');
  return [completed, ...children.flatMap((child) => completedCommands(child, pathOf(child)))];
}

function completedOption({
  long,
  description,
  required,
  optional,
  argChoices = [],
}: Option): CompletedOption[] {
  if (!long) return [];
  return [
    {
      flag: long,
      description: firstSentence(description),
      takesValue: required || optional,
      choices: argChoices,
    },
  ];
}

/** Quotes a text literally for fish. */
function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** Returns a script that completes the commands in fish. */
function fishCompletion(commands: readonly CompletedCommand[]): string {
  const paths = commands.filter(({ path }) => path !== '').map(({ path }) => fishQuoted(path));
  return `# Completes the commands of chartledger in fish.
function __chartledger_at
  set -l commands ${paths.join(' ')}
  set -l at ''
  for word in (commandline -opc)[2..]
    set -l longer (string trim "$at $word")
    contains -- $longer $commands; and set at $longer
  end
  test "$at" = "$argv[1]"
end
${commands.flatMap(completionsOf).join('\n')}
`;
}

function completionsOf({ path, commands, options, choices }: CompletedCommand): string[] {
  const begin = `complete -c chartledger -n ${fishQuoted(`__chartledger_at ${fishQuoted(path)}`)}`;
  return [
    ...commands.map(({ name, description }) => `${begin} -f -a ${name} -d ${fishQuoted(description)}`),
    ...(choices.length > 0 ? [`${begin} -f -a ${fishQuoted(choices.join(' '))}`] : []),
    ...options.map((option) => `${begin} ${optionOf(option)}`),
  ];
}

function optionOf({ flag, description, takesValue, choices }: CompletedOption): string {
  const values = choices.length > 0 ? ` -x -a ${fishQuoted(choices.join(' '))}` : takesValue ? ' -r' : '';
  return `-l ${flag.slice(2)}${values} -d ${fishQuoted(description)}`;
}

/** Formats a candidate with its description for `_describe`. */
function candidate(name: string, description: string): string {
  return quoted(`${name.replaceAll(':', '\\:')}:${description}`);
}

/** Returns a script that completes the commands in zsh. */
function zshCompletion(commands: readonly CompletedCommand[]): string {
  const values = knownValues(commands).map(
    ({ pattern, choices }) => `    ${pattern}) found=(${choices.map(quoted).join(' ')}) ;;`,
  );
  const words = commands.map(({ path, commands: children, options, choices }) => {
    const all = [
      ...children.map(({ name, description }) => candidate(name, description)),
      ...choices.map(quoted),
      ...options.map(({ flag, description }) => candidate(flag, description)),
    ];
    return `        ${quoted(path)}) found=(${all.join(' ')}) ;;`;
  });
  return `#compdef chartledger
# Completes the commands of chartledger in zsh.
_chartledger() {
  local at='' word index
  local -a found
  for ((index = 2; index < CURRENT; index++)); do
    word="\${at:+$at }\${words[index]}"
    case "$word" in
      ${commandPattern(commands)}) at="$word" ;;
    esac
  done
  case "$at:\${words[CURRENT - 1]}" in
${values.join('\n')}
    ${openPattern(commands)}) _files; return ;;
    *)
      case "$at" in
${words.join('\n')}
      esac
      ;;
  esac
  _describe -o chartledger found || _files
}
if [ "$funcstack[1]" = _chartledger ]; then _chartledger "$@"; else compdef _chartledger chartledger; fi
`;
}

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
