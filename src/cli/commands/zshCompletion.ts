import type { CompletedCommand } from './completedCommands.ts';
import { commandPattern, knownValues, openPattern, quoted } from './shellPatterns.ts';

/** Formats a candidate with its description for `_describe`. */
function candidate(name: string, description: string): string {
  return quoted(`${name.replaceAll(':', '\\:')}:${description}`);
}

/** Returns a script that completes the commands in zsh. */
export function zshCompletion(commands: readonly CompletedCommand[]): string {
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
