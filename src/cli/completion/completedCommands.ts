import type { Command, Option } from 'commander';

/** An option as a shell completes it. */
export interface CompletedOption {
  /** `--format` */
  flag: string;
  description: string;
  takesValue: boolean;
  /** The values that it takes; none where they are open. */
  choices: readonly string[];
}

/** A command as a shell completes it. */
export interface CompletedCommand {
  /** Its names behind `chartledger`: `keys create`; empty for the program itself. */
  path: string;
  commands: readonly { name: string; description: string }[];
  options: readonly CompletedOption[];
  /** The values of its arguments, of those that have some. */
  choices: readonly string[];
}

/** A command and all below it, as its help shows them. */
export function completedCommands(command: Command, path = ''): CompletedCommand[] {
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

/** Up to the first full stop, semicolon or colon. */
function firstSentence(text: string): string {
  return text.split(/[.;:](?:\s|$)/)[0] as string;
}
