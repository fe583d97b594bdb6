import type { CompletedCommand } from './completedCommands.ts';

/** A text as bash and zsh take it to the letter. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A pattern of all commands but the program itself. */
export function commandPattern(commands: readonly CompletedCommand[]): string {
  const named = commands.filter(({ path }) => path !== '');
  return named.map(({ path }) => quoted(path)).join(' | ');
}

/** A pattern of the options whose values are open, each as `COMMAND:OPTION`: there names of files are completed. */
export function openPattern(commands: readonly CompletedCommand[]): string {
  const open = commands.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue, choices }) => takesValue && choices.length === 0)
      .map(({ flag }) => quoted(`${path}:${flag}`)),
  );
  return open.join(' | ');
}

/** The options whose values are known, each as a pattern, with these. */
export function knownValues(
  commands: readonly CompletedCommand[],
): { pattern: string; choices: readonly string[] }[] {
  return commands.flatMap(({ path, options }) =>
    options
      .filter(({ choices }) => choices.length > 0)
      .map(({ flag, choices }) => ({ pattern: quoted(`${path}:${flag}`), choices })),
  );
}
