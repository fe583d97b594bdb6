import type { CompletedCommand } from './completedCommands.ts';

/** Quotes a text literally for bash and zsh. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns a pattern of all commands except the program itself. */
export function commandPattern(commands: readonly CompletedCommand[]): string {
  const named = commands.filter(({ path }) => path !== '');
  return named.map(({ path }) => quoted(path)).join(' | ');
}

/** Returns a pattern of the options with open values, each as `COMMAND:OPTION`: file names are completed for them. */
export function openPattern(commands: readonly CompletedCommand[]): string {
  const open = commands.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue, choices }) => takesValue && choices.length === 0)
      .map(({ flag }) => quoted(`${path}:${flag}`)),
  );
  return open.join(' | ');
}

/** Returns the options with known values, each as a pattern with its values. */
export function knownValues(
  commands: readonly CompletedCommand[],
): { pattern: string; choices: readonly string[] }[] {
  return commands.flatMap(({ path, options }) =>
    options
      .filter(({ choices }) => choices.length > 0)
      .map(({ flag, choices }) => ({ pattern: quoted(`${path}:${flag}`), choices })),
  );
}
