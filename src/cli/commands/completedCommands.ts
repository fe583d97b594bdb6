import type { Command, Option } from 'commander';

/** An option for shell completion. */
export interface CompletedOption {
  /** `--format` */
  flag: string;
  description: string;
  takesValue: boolean;
  /** The values that it accepts; empty if they are open. */
  choices: readonly string[];
}

/** A command for shell completion. */
export interface CompletedCommand {
  /** Its names after `chartledger`: `keys create`; empty for the program itself. */
  path: string;
  commands: readonly { name: string; description: string }[];
  options: readonly CompletedOption[];
  /** The values of its arguments that have a fixed set. */
  choices: readonly string[];
}

/** Returns a command and all its subcommands, as shown in its help. */
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

/** Returns the text up to the first full stop, semicolon or colon. */
function firstSentence(text: string): string {
  return text.split(/[.;:](?:\s|$)/)[0] as string;
}
