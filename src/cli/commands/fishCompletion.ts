import type { CompletedCommand, CompletedOption } from './completedCommands.ts';

/** Quotes a text literally for fish. */
function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** Returns a script that completes the commands in fish. */
export function fishCompletion(commands: readonly CompletedCommand[]): string {
  const paths = commands.filter(({ path }) => path !== '').map(({ path }) => quoted(path));
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
  const begin = `complete -c chartledger -n ${quoted(`__chartledger_at ${quoted(path)}`)}`;
  return [
    ...commands.map(({ name, description }) => `${begin} -f -a ${name} -d ${quoted(description)}`),
    ...(choices.length > 0 ? [`${begin} -f -a ${quoted(choices.join(' '))}`] : []),
    ...options.map((option) => `${begin} ${optionOf(option)}`),
  ];
}

function optionOf({ flag, description, takesValue, choices }: CompletedOption): string {
  const values = choices.length > 0 ? ` -x -a ${quoted(choices.join(' '))}` : takesValue ? ' -r' : '';
  return `-l ${flag.slice(2)}${values} -d ${quoted(description)}`;
}
