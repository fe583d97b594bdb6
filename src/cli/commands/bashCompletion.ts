import type { CompletedCommand } from './completedCommands.ts';
import { commandPattern, knownValues, openPattern, quoted } from './shellPatterns.ts';

/** Returns a script that completes the commands in bash. */
export function bashCompletion(commands: readonly CompletedCommand[]): string {
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
